package main

import (
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

// serverCommand runs a lock service that is built into the program, so that a
// demonstration needs nothing installed.
func serverCommand() *cobra.Command {
	server := &cobra.Command{Use: "server", Short: "Run a built-in lock service", Hidden: true}
	server.AddCommand(&cobra.Command{
		Use:                "etcd [etcd's own flags]",
		Short:              "Run one etcd member",
		DisableFlagParsing: true,
		Run: func(_ *cobra.Command, args []string) {
			etcdmain.Main(append([]string{"etcd"}, args...))
		},
	})
	return server
}
