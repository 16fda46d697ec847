package cli

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"muster/api"
	"muster/client"
)

// candidate is a word that a person may mean.
type candidate struct{ word, help string }

// Words that the shells complete themselves.
const (
	filesWord       = ":files"
	directoriesWord = ":directories"
)

// typed is what a command line says before the word that is completed.
type typed struct {
	node       *kong.Node
	positional int                 // how many arguments were given
	waits      *kong.Flag          // the flag whose value is completed, if any
	given      map[string][]string // values of flags, by name
	onlyValues bool                // -- was typed: no more flags follow
}

// readWords follows the words of a command line.
func readWords(model *kong.Application, words []string) typed {
	at := typed{node: model.Node, given: map[string][]string{}}
	for _, word := range words {
		switch {
		case at.waits != nil:
			at.give(at.waits, word)
			at.waits = nil
		case at.onlyValues:
			at.positional++
		case word == "--":
			at.onlyValues = true
		case strings.HasPrefix(word, "-") && len(word) > 1:
			at.readFlag(word)
		case at.child(word) != nil:
			at.node = at.child(word)
		default:
			at.positional++
		}
	}
	return at
}

func (t *typed) give(flag *kong.Flag, value string) {
	t.given[flag.Name] = append(t.given[flag.Name], value)
}

func (t *typed) child(word string) *kong.Node {
	i := slices.IndexFunc(t.node.Children, func(n *kong.Node) bool {
		return n.Name == word || slices.Contains(n.Aliases, word)
	})
	if i < 0 {
		return nil
	}
	return t.node.Children[i]
}

// readFlag reads --name, --name=value, -n and -nvalue.
func (t *typed) readFlag(word string) {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(word, "--"), "=")
	if !strings.HasPrefix(word, "--") {
		name, value = word[1:2], strings.TrimPrefix(word[2:], "=")
		hasValue = value != ""
	}
	flag := t.flag(name)
	switch {
	case flag == nil:
	case hasValue || flag.IsBool():
		t.give(flag, value)
	default:
		t.waits = flag
	}
}

// flag finds a flag by its name or letter. It is nil if the command has no such flag.
func (t *typed) flag(name string) *kong.Flag {
	for _, group := range t.node.AllFlags(false) {
		for _, flag := range group {
			if flag.Name == name || flag.Short != 0 && string(flag.Short) == name {
				return flag
			}
		}
	}
	return nil
}

// candidates are the words that the last word may become.
func (t *typed) candidates(last string, live func(kind string) []candidate) []candidate {
	name, value, isValue := strings.Cut(last, "=")
	switch {
	case t.waits != nil:
		return beginning(last, t.valuesOf(t.waits.Value, placeholderOf(t.waits), last, live))
	case !t.onlyValues && isValue && strings.HasPrefix(last, "--"):
		flag := t.flag(strings.TrimPrefix(name, "--"))
		if flag == nil {
			return nil
		}
		var all []candidate
		for _, c := range beginning(value, t.valuesOf(flag.Value, placeholderOf(flag), value, live)) {
			all = append(all, candidate{name + "=" + c.word, c.help})
		}
		return all
	case !t.onlyValues && strings.HasPrefix(last, "-"):
		return beginning(last, t.flags())
	case len(t.node.Children) > 0:
		return beginning(last, subcommandsOf(t.node))
	}
	arguments := t.node.Positional
	if len(arguments) == 0 {
		return nil
	}
	i := t.positional
	if i >= len(arguments) {
		if i = len(arguments) - 1; !arguments[i].IsCumulative() {
			return nil
		}
	}
	return beginning(last, t.valuesOf(arguments[i], strings.ToUpper(arguments[i].Name), last, live))
}

func placeholderOf(flag *kong.Flag) string { return strings.ToUpper(flag.PlaceHolder) }

// beginning are the candidates that begin with what was typed.
func beginning(with string, all []candidate) []candidate {
	return slices.DeleteFunc(all, func(c candidate) bool {
		own := c.word == filesWord || c.word == directoriesWord
		return !own && !strings.HasPrefix(c.word, with)
	})
}

func subcommandsOf(node *kong.Node) (all []candidate) {
	for _, child := range node.Children {
		if !child.Hidden {
			all = append(all, candidate{child.Name, child.Help})
		}
	}
	return all
}

// flags are the flags that may follow. A flag that takes a single value is left out once it was given.
func (t *typed) flags() (all []candidate) {
	for _, group := range t.node.AllFlags(true) {
		for _, flag := range group {
			if _, given := t.given[flag.Name]; !given || flag.IsCumulative() {
				all = append(all, candidate{"--" + flag.Name, flag.Help})
			}
		}
	}
	return all
}

// valuesOf are the values of a flag or an argument, of which last was typed.
func (t *typed) valuesOf(value *kong.Value, placeholder, last string, live func(kind string) []candidate) []candidate {
	var all []candidate
	if value.Enum != "" {
		for _, word := range value.EnumSlice() {
			if word != "" {
				all = append(all, candidate{word: word})
			}
		}
		return all
	}
	kind := t.kindOf(value, placeholder)
	if found, known := t.fixedValues(kind, last, live); known {
		return found
	}
	switch {
	case strings.HasPrefix(kind, "DIR"):
		return []candidate{{word: directoriesWord}}
	case kind == "FILE" || kind == "PATH" || value.Tag.Type == "path" || value.Tag.Type == "existingfile":
		return []candidate{{word: filesWord}}
	}
	if kind == "" {
		return nil
	}
	choices := value.Tag.PlaceHolder
	if strings.Contains(choices, "|") && strings.ToLower(choices) == choices {
		return textsAs(strings.Split(choices, "|"), "")
	}
	return live(kind)
}

// kindsOfCommands say which kind an argument is of where its name is used by several commands.
var kindsOfCommands = map[string]string{
	"rollout ID": "ROLLOUT", "order ID": "ORDER", "pending ID": "PENDING", "session ID": "SESSION",
	"secret NAME": "SECRET", "user NAME": "USER", "token NAME": "TOKEN", "enroll-key KEY": "ENROLL-KEY",
	"context NAME": "CONTEXT", "enrollment DEVICE": "ENROLLMENT", "consent DIGEST": "HELD",
	"folder STATE": "FOLDER-STATE", "revocation DEVICE": "REVOCATION", "share FOLDER": "",
	"channel NAME": "CHANNEL", "channel TYPE": "CHANNEL-TYPE", "route NAME": "ROUTE", "route KIND": "PROBLEM",
	"silence KIND": "PROBLEM",
}

const (
	// completeTime is how long a person who presses the tab key waits for the server, and the variable that changes it.
	completeTime     = time.Second
	completeVariable = "MUSTER_COMPLETION_TIMEOUT"
)

func completionTime() time.Duration {
	if given, err := time.ParseDuration(os.Getenv(completeVariable)); err == nil && given > 0 {
		return given
	}
	return completeTime
}

// liveValues asks the server for the values of a kind. On an error it gives no values: a shell would show the error
// in the middle of the line.
func liveValues(ctx context.Context, parser *kong.Kong, given map[string][]string) func(kind string) []candidate {
	return func(kind string) []candidate {
		if kind == "CONTEXT" { // The server is not asked: there may be none yet.
			return contextCandidates()
		}
		ask := lookups[kind]
		if ask == nil {
			return nil
		}
		server, err := clientFor(parser, given)
		if err != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, completionTime())
		defer cancel()
		found, err := ask(ctx, server)
		if err != nil {
			return nil
		}
		return found
	}
}

// clientFor calls the server that the flags of a command line and the environment name.
func clientFor(parser *kong.Kong, given map[string][]string) (*client.Client, error) {
	words := []string{"tag", "list"} // any command that calls the server
	for _, name := range []string{"context", "server", "token", "token-file", "muster-home", "ca"} {
		for _, value := range given[name] {
			words = append(words, "--"+name+"="+value)
		}
	}
	parsed, err := parser.Parse(words)
	if err != nil {
		return nil, err
	}
	if err := fillSecrets(parsed.Flags()); err != nil {
		return nil, err
	}
	type caller interface {
		client() (*client.Client, error)
	}
	return parsed.Selected().Target.Addr().Interface().(caller).client()
}

// lookup asks the server for the values of a kind.
type lookup func(ctx context.Context, server *client.Client) ([]candidate, error)

// lookups are the kinds of values that the server knows.
var lookups = map[string]lookup{
	"DEVICE":     deviceCandidates,
	"TAG":        tagNoun.candidates,
	"TEMPLATE":   templateNoun.candidates,
	"FOLDER":     folderNoun.candidates,
	"ROLLOUT":    rolloutNoun.candidates,
	"ORDER":      orderNoun.candidates,
	"PENDING":    pendingNoun.candidates,
	"ENROLLMENT": enrollmentNoun.candidates,
	"HELD":       heldNoun.candidates,
	"SECRET":     secretNoun.candidates,
	"FORM":       formNoun.candidates,
	"SETTING":    settingNoun.candidates,
	"USER":       userNoun.candidates,
	"TOKEN":      tokenNoun.candidates,
	"SESSION":    sessionNoun.candidates,
	"ENROLL-KEY": enrollKeyNoun.candidates,
	"SOURCE":     sourceNoun.candidates,
	"CHANNEL":    channelNoun.candidates,
	"ROUTE":      routeNoun.candidates,
	"SILENCE":    silenceNoun.candidates,
	"REVOCATION": revocationNoun.candidates,
	"DEVICE-ID":  deviceIDCandidates,
	"VERSION":    inventoryCandidates(func(c api.InventoryCounts) map[string]int { return c.Versions }),
	"OS":         inventoryCandidates(func(c api.InventoryCounts) map[string]int { return c.OS }),
}
