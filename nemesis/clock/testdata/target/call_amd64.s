#include "textflag.h"

// func call(fn, a, b uintptr) uintptr
// The C function runs on the upper part of this frame's 2 KiB.
TEXT ·call(SB), 0, $2048-32
	MOVQ fn+0(FP), AX
	MOVQ a+8(FP), DI
	MOVQ b+16(FP), SI
	MOVQ SP, BX
	LEAQ 1920(SP), SP
	ANDQ $~15, SP
	CALL AX
	MOVQ BX, SP
	MOVQ AX, ret+24(FP)
	RET

// func vfork(sleep *syscall.Timespec)
TEXT ·vfork(SB), NOSPLIT, $0-8
	MOVQ sleep+0(FP), R12
	MOVQ $56, AX      // clone
	MOVQ $0x4111, DI  // CLONE_VFORK | CLONE_VM | SIGCHLD
	XORL SI, SI
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	SYSCALL
	CMPQ AX, $0
	JNE parent
	MOVQ $35, AX      // nanosleep
	MOVQ R12, DI
	XORL SI, SI
	SYSCALL
	MOVQ $60, AX      // exit
	XORL DI, DI
	SYSCALL
parent:
	RET
