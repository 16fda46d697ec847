package cli

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
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
	waits      *kong.Flag          // whose value is completed; nil: none
	given      map[string][]string // values of flags, by name
	onlyValues bool                // after --
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

// flag is the flag with a name or letter; nil: there is none.
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
		return beginning(last, t.valuesOf(t.waits.Value, placeholderOf(t.waits), live))
	case !t.onlyValues && isValue && strings.HasPrefix(last, "--"):
		flag := t.flag(strings.TrimPrefix(name, "--"))
		if flag == nil {
			return nil
		}
		var all []candidate
		for _, c := range beginning(value, t.valuesOf(flag.Value, placeholderOf(flag), live)) {
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
	return beginning(last, t.valuesOf(arguments[i], strings.ToUpper(arguments[i].Name), live))
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

// flags are the flags that may follow; one that takes a single value and was given is none of them.
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

// valuesOf are the values of a flag or an argument. kind is its placeholder.
func (t *typed) valuesOf(value *kong.Value, kind string, live func(kind string) []candidate) []candidate {
	var all []candidate
	if value.Enum != "" {
		for _, word := range value.EnumSlice() {
			if word != "" {
				all = append(all, candidate{word: word})
			}
		}
		return all
	}
	for _, node := range []*kong.Node{t.node, t.node.Parent} {
		if node != nil && kindsOfCommands[node.Name+" "+kind] != "" {
			kind = kindsOfCommands[node.Name+" "+kind]
			break
		}
	}
	switch {
	case strings.HasPrefix(kind, "DIR"):
		return []candidate{{word: directoriesWord}}
	case kind == "FILE" || kind == "PATH" || value.Tag.Type == "path" || value.Tag.Type == "existingfile":
		return []candidate{{word: filesWord}}
	}
	return live(kind)
}

// kindsOfCommands say what the arguments of commands are where their name alone does not.
var kindsOfCommands = map[string]string{
	"rollout ID": "ROLLOUT", "action ID": "ORDER", "pending ID": "PENDING", "session ID": "SESSION",
	"secret NAME": "SECRET", "user NAME": "USER", "token NAME": "TOKEN", "enroll-key KEY": "ENROLL-KEY",
	"enrollment DEVICE": "ENROLLMENT", "consent DIGEST": "HELD",
}
