package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"muster/internal/fleet"
)

// editing is a text that a person is to change.
type editing struct {
	editor  string // command, which may have arguments; "" means vi, on a terminal
	pattern string // pattern of the file's name, whose ending tells an editor the language
	text    string
}

// editText opens a text in the person's editor. It gives the file with what was written, "" where that is the text
// itself.
func editText(ctx context.Context, env *environment, e editing) (path string, err error) {
	if e.editor == "" && !isTerminal(env.In) {
		return "", &fleet.Error{Code: fleet.CodeInvalid, Message: "there is no terminal to edit in",
			Hint: "Set $EDITOR to a program that changes a file by itself, or give the change by a file or flags: --help " +
				"shows them."}
	}
	if path, err = writeTemporary(e.pattern, e.text); err != nil {
		return "", err
	}
	failed := openEditor(ctx, env, cmp.Or(e.editor, "vi"), path)
	written, err := os.ReadFile(path)
	switch {
	case err != nil:
		return "", unreadable(err)
	case string(written) == e.text:
		if failed == nil {
			fmt.Fprintln(env.Out, "Nothing was changed.")
		}
		return "", errors.Join(failed, os.Remove(path))
	case failed != nil:
		fmt.Fprintf(env.Err, "What you wrote is in %s.\n", path)
	}
	return path, failed
}

func writeTemporary(pattern, text string) (path string, err error) {
	file, err := os.CreateTemp("", pattern)
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(file, text)
	return file.Name(), errors.Join(err, file.Close())
}

func openEditor(ctx context.Context, env *environment, editor, path string) error {
	words := append(strings.Fields(editor), path)
	command := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // the person's own editor
	command.Stdin, command.Stdout, command.Stderr = env.In, env.Out, env.Err
	if err := command.Run(); err != nil {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("the editor %q failed: %v", editor, err),
			Hint: "Set $EDITOR to one that works."}
	}
	return nil
}
