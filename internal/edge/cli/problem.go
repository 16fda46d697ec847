package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/edge/httpapi"
	"muster/internal/fleet"
)

// problemType begins the type of every problem, as in the answers of the API.
const problemType = "urn:muster:problem:"

// asksForJSON reports whether -o json is among the arguments. They are read here because an error about arguments comes
// before they are parsed.
func asksForJSON(args []string) bool {
	for i, arg := range args {
		switch arg {
		case "--":
			return false
		case "-ojson", "-o=json", "--output=json":
			return true
		case "-o", "--output":
			if i+1 < len(args) && args[i+1] == "json" {
				return true
			}
		}
	}
	return false
}

// explainUsage prints an error about the arguments.
func explainUsage(w io.Writer, asJSON bool, err error) int {
	try := fmt.Sprintf("Try `%s --help`.", commandIn(err))
	if asJSON {
		printProblem(w, api.Problem{Type: problemType + string(fleet.CodeMalformed), Status: http.StatusBadRequest,
			Title: http.StatusText(http.StatusBadRequest), Detail: err.Error(), Hint: try})
	} else {
		fmt.Fprintf(w, "muster: %v\n%s\n", err, try)
	}
	return exitUsage
}

// explainAs prints an error in the form that was asked for, and chooses the exit code.
func explainAs(w io.Writer, asJSON bool, err error) int {
	code := codeFor(err)
	if asJSON && needsText(err) {
		printProblem(w, problemOf(err))
		return code
	}
	return explain(w, err)
}

// needsText reports whether an error is not told by the exit code alone.
func needsText(err error) bool {
	var quiet exitCode
	code := codeFor(err)
	return code != exitDone && code != exitInterrupted && !errors.As(err, &quiet)
}

func printProblem(w io.Writer, problem api.Problem) {
	text, err := json.Marshal(problem)
	if err != nil {
		text = []byte(`{}`)
	}
	fmt.Fprintf(w, "%s\n", text)
}

// problemOf is an error as a problem of the API. That of an answer of the server has commands in the place of requests,
// as the text for people has.
func problemOf(err error) api.Problem {
	var e *fleet.Error
	errors.As(err, &e)
	var answer *client.Error
	if errors.As(err, &answer) {
		problem := answer.Problem
		problem.Type = cmp.Or(problem.Type, problemType+string(fleet.CodeOf(err))) // a proxy's answer has none
		problem.Hint = hintFor(e, answer)
		return problem
	}
	if e == nil { // no other process reads this text
		return api.Problem{Type: problemType + string(fleet.CodeInternal), Status: http.StatusInternalServerError,
			Title: http.StatusText(http.StatusInternalServerError), Detail: err.Error()}
	}
	status, _ := httpapi.Classify(e)
	problem := api.Problem{Type: problemType + string(e.Code), Title: http.StatusText(status), Status: status,
		Detail: err.Error(), Hint: hintFor(e, nil), Traceback: e.Traceback}
	for _, d := range e.Details {
		problem.Errors = append(problem.Errors, api.ProblemDetail{Field: d.Field, Line: d.Line, Column: d.Column,
			Message: d.Message})
	}
	return problem
}

// joinedSorts has the value of --sort in one argument with the flag: -needBytes would be taken for other flags.
func joinedSorts(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(out, args[i:]...)
		}
		if args[i] == "--sort" && i+1 < len(args) && isOrder(args[i+1]) {
			out = append(out, args[i]+"="+args[i+1])
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}

// isOrder reports whether an argument after --sort is an order the other way round, and no flag.
func isOrder(arg string) bool {
	name, descending := strings.CutPrefix(arg, "-")
	return descending && len(name) > 1 && !strings.HasPrefix(name, "-") && !strings.Contains(name, "=")
}
