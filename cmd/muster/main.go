// Command muster manages fleets of Syncthing daemons from one place: server, worker and client in one binary.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"muster/internal/cli"
)

// version is set by the linker.
var version = "unknown"

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	context.AfterFunc(ctx, cancel) // a second signal ends the process at once
	os.Exit(cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, version))
}
