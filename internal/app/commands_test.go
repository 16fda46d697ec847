package app_test

import (
	"bytes"
	"context"
	"io"
	"strings"

	"muster/internal/app"
	"muster/internal/edge/cli"
)

// The command line imports app, so that the tests of app reach it from outside only. Warnings are left out: these tests
// have a server without templates, and `muster status` warns that it has no held changes.
func init() {
	app.RunCommand = func(ctx context.Context, args []string, out io.Writer) (code int) {
		const done, refused = 0, 3
		var errs bytes.Buffer
		code = cli.Run(ctx, args, cli.Streams{In: strings.NewReader(""), Out: out, Err: &errs}, "test")
		if code != done && code != refused {
			_, _ = errs.WriteTo(out)
		}
		return code
	}
}
