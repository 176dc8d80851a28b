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
