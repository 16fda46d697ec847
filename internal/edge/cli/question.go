package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"muster/internal/fleet"
)

// asking is how a command asks before it takes something away.
type asking struct {
	messaging
	Yes bool `short:"y" env:"-" help:"Do not ask."`
}

// consented is an error unless --yes was given, or the person answers yes.
func (a asking) consented(env *environment, question string) error {
	if a.Yes {
		return nil
	}
	return confirm(env, question)
}

// confirm is an error unless the person answers yes.
func confirm(env *environment, question string) error { return ask(env, question, "--yes") }

// ask is an error unless the person answers yes. The error names the flags that answer beforehand.
func ask(env *environment, question, flags string) error {
	out := env.Out
	if env.forPrograms || env.quiet {
		out = env.Err
	}
	message := "nothing was changed"
	if env.problems && !isTerminal(env.In) { // standard error is for one JSON object
		out, message = io.Discard, "nothing was changed without an answer to: "+question
	}
	fmt.Fprint(out, question+" [y/N] ")
	answer, err := bufio.NewReader(env.In).ReadString('\n')
	if err != nil {
		fmt.Fprintln(out)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return &fleet.Error{Code: fleet.CodeConflict, Message: message, Hint: "Answer y, or give " + flags + "."}
}
