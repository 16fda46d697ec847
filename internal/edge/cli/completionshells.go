package cli

import (
	"context"
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

//go:embed completion/muster.bash completion/muster.zsh completion/muster.fish
var completionScripts embed.FS

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help says how the script is used.
func (completionCommand) Help() string {
	return `For this shell only:

  source <(muster completion bash)
  source <(muster completion zsh)
  muster completion fish | source

For every shell from now on, as the package does for all users:

  muster completion bash > ~/.local/share/bash-completion/completions/muster
  muster completion zsh > "${fpath[1]}/_muster"
  muster completion fish > ~/.config/fish/completions/muster.fish

Labels, tags, templates and others come from the server that commands use, within a second, or not at all. The variable
MUSTER_COMPLETION_TIMEOUT sets another time, as 3s.`
}

// Run prints the script of a shell.
func (c completionCommand) Run(env *environment) error {
	script, err := completionScripts.ReadFile("completion/muster." + c.Shell)
	if err == nil {
		_, err = env.Out.Write(script)
	}
	return err
}

// completeWord is the first argument of a request of a shell: __complete SHELL WORD…, with the word that is completed
// last. bash has its whole line in one word.
const completeWord = "__complete"

// complete prints what the last word may become, one candidate on each line.
func (env *environment) complete(ctx context.Context, parser *kong.Kong, request []string) {
	if len(request) < 2 {
		return
	}
	shell, words, quote := request[0], request[1:], byte(0)
	if shell == "bash" {
		if words, quote = splitLine(words[0]); len(words) > 1 {
			words = words[1:] // the first word is muster itself
		}
	}
	last := words[len(words)-1]
	at := readWords(parser.Model, words[:len(words)-1])
	for _, c := range at.candidates(last, liveValues(ctx, parser, at.given)) {
		fmt.Fprintln(env.Out, c.lineFor(shell, last, quote))
	}
}

// lineFor is a candidate as the script of a shell reads it.
func (c candidate) lineFor(shell, last string, quote byte) string {
	word := printable(c.word)
	if word == filesWord || word == directoriesWord {
		return word
	}
	switch shell {
	case "bash": // bash replaces only what follows the last = or :
		if quote != 0 {
			return word
		}
		return quotedForBash(word[strings.LastIndexAny(last, "=:")+1:])
	case "zsh":
		word = strings.ReplaceAll(word, ":", `\:`)
		if help := shortHelp(c.help); help != "" {
			word += ":" + help
		}
		return word
	}
	return word + "\t" + shortHelp(c.help)
}

// shortHelp is the first sentence, on one line.
func shortHelp(help string) string {
	first, _, _ := strings.Cut(printable(strings.TrimSpace(help)), ". ")
	return strings.TrimSuffix(first, ".")
}

// quotedForBash is a word with a backslash before what bash would read otherwise.
func quotedForBash(word string) string {
	var b strings.Builder
	for _, r := range word {
		if strings.ContainsRune(" \t\"'`\\$&|;<>()[]{}*?!#~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// splitLine splits a command line as a shell does, up to its end. The last word is what is being typed, "" after a
// blank; quote is the quotation mark that is open in it, 0 for none.
func splitLine(line string) (words []string, quote byte) {
	var word strings.Builder
	in := strings.NewReader(strings.TrimLeft(line, " \t"))
	for {
		c, err := in.ReadByte()
		switch {
		case err == io.EOF:
			return append(words, word.String()), quote
		case c == '\\' && quote != '\'':
			if next, err := in.ReadByte(); err == nil {
				word.WriteByte(next)
			}
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote && quote != 0:
			quote = 0
		case quote == 0 && (c == ' ' || c == '\t'):
			words = append(words, word.String())
			word.Reset()
			skipBlanks(in)
		default:
			word.WriteByte(c)
		}
	}
}

func skipBlanks(in *strings.Reader) {
	for {
		c, err := in.ReadByte()
		if err != nil {
			return
		}
		if c != ' ' && c != '\t' {
			_ = in.UnreadByte() // it was read just now
			return
		}
	}
}
