package app_test

import (
	"context"
	"io"
	"strings"

	"muster/internal/app"
	"muster/internal/edge/cli"
)

// The command line imports app, so that the tests of app reach it from outside only.
func init() {
	app.RunCommand = func(ctx context.Context, args []string, out io.Writer) (code int) {
		return cli.Run(ctx, args, cli.Streams{In: strings.NewReader(""), Out: out, Err: out}, "test")
	}
}
