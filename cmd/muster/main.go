// Command muster manages fleets of Syncthing daemons from one place. One binary is the server, its worker processes,
// the agent and the command line client.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"muster/internal/edge/cli"
)

// commit is the commit of the build; the linker sets it.
var commit string

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	context.AfterFunc(ctx, cancel) // After the first signal, a second one ends the process at once.
	os.Exit(cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, commit))
}
