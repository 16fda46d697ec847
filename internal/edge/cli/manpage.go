package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// manWord is the first argument of a request for manual pages: __man DIR VERSION DATE. The package is built with them.
const manWord = "__man"

// writeManPages writes muster.1 and one page for each of its commands.
func writeManPages(model *kong.Application, dir, version, date string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // pages are for everybody
		return err
	}
	for _, node := range append([]*kong.Node{model.Node}, shownIn(model.Node)...) {
		p := &manPage{version: version, date: date}
		p.of(model, node)
		path := filepath.Join(dir, pageName(node)+".1")
		if err := os.WriteFile(path, []byte(p.String()), 0o644); err != nil { //nolint:gosec // pages are for everybody
			return err
		}
	}
	return nil
}

// shownIn are the commands of a command that people see.
func shownIn(node *kong.Node) (shown []*kong.Node) {
	for _, child := range node.Children {
		if !child.Hidden {
			shown = append(shown, child)
		}
	}
	return shown
}

func pageName(node *kong.Node) string { return strings.ReplaceAll(node.FullPath(), " ", "-") }

// manPage is a page in the macros of man(7).
type manPage struct {
	strings.Builder
	version, date string
}

func (p *manPage) of(model *kong.Application, node *kong.Node) {
	summary, detail, _ := strings.Cut(node.Help, "\n")
	summary, rest, _ := strings.Cut(summary, ". ")
	fmt.Fprintf(p, ".TH %s 1 \"%s\" \"Muster %s\" \"Muster\"\n", strings.ToUpper(escaped(pageName(node))), p.date,
		escaped(p.version))
	p.section("NAME")
	fmt.Fprintf(p, "%s \\- %s\n", escaped(pageName(node)), escaped(strings.TrimSuffix(summary, ".")))
	p.section("SYNOPSIS")
	if node == model.Node {
		p.WriteString(".B muster\n.I COMMAND\n")
	} else {
		p.synopsis(node)
	}
	p.section("DESCRIPTION")
	p.text(strings.TrimSpace(rest + "\n\n" + detail + "\n\n" + node.Detail))
	if node == model.Node {
		p.commands(node)
	} else {
		p.leaves(node)
	}
	p.common(node)
	p.section("SEE ALSO")
	if node != model.Node {
		p.WriteString(".BR muster (1)\n.PP\n")
	}
	p.text("The manual is at /docs/ of a running server.")
}

func (p *manPage) synopsis(node *kong.Node) {
	for i, leaf := range leavesOf(node) {
		if i > 0 {
			p.WriteString(".br\n")
		}
		fmt.Fprintf(p, ".B muster %s\n", escaped(strings.TrimPrefix(leaf.Summary(), "muster ")))
	}
}

func (p *manPage) section(title string) { fmt.Fprintf(p, ".SH %s\n", title) }

// commands lists the commands, each with its page.
func (p *manPage) commands(node *kong.Node) {
	p.section("COMMANDS")
	for _, child := range shownIn(node) {
		fmt.Fprintf(p, ".TP\n.BR %s (1)\n", escaped(pageName(child)))
		p.words(child.Help)
	}
}

// leaves describes each command that can be run, with the flags of its own.
func (p *manPage) leaves(node *kong.Node) {
	for _, leaf := range leavesOf(node) {
		if leaf != node {
			fmt.Fprintf(p, ".SH \"%s\"\n", strings.ToUpper(escaped(leaf.FullPath())))
			p.text(strings.TrimSpace(leaf.Help + "\n\n" + leaf.Detail))
		} else if len(leaf.Positional)+len(leaf.Flags) > 0 {
			p.section("ARGUMENTS")
		}
		for _, argument := range leaf.Positional {
			fmt.Fprintf(p, ".TP\n.I %s\n", escaped(strings.ToUpper(argument.Name)))
			p.words(argument.Help)
		}
		for _, flag := range leaf.Flags {
			if !flag.Hidden && !slices.Contains(commonFlags, flag.Name) {
				p.flag(flag)
			}
		}
	}
}

// commonFlags are described once on a page.
var commonFlags = []string{"help", "server", "token", "token-file", "muster-home", "ca", "quiet", "api-verbose"}

func (p *manPage) common(node *kong.Node) {
	written := map[string]bool{}
	for _, leaf := range leavesOf(node) {
		for _, group := range leaf.AllFlags(true) {
			for _, flag := range group {
				if written[flag.Name] || !slices.Contains(commonFlags, flag.Name) {
					continue
				}
				if len(written) == 0 {
					p.section("COMMON OPTIONS")
				}
				written[flag.Name] = true
				p.flag(flag)
			}
		}
	}
}

func (p *manPage) flag(flag *kong.Flag) {
	p.WriteString(".TP\n")
	if flag.Short != 0 {
		fmt.Fprintf(p, "\\fB\\-%c\\fR, ", flag.Short)
	}
	fmt.Fprintf(p, "\\fB\\-\\-%s\\fR", escaped(flag.Name))
	if !flag.IsBool() {
		fmt.Fprintf(p, "=\\fI%s\\fR", escaped(strings.TrimPrefix(flag.FormatPlaceHolder(), "=")))
	}
	p.WriteString("\n")
	help := flag.Help
	if len(flag.Envs) > 0 {
		help += " (" + strings.Join(flag.Envs, ", ") + ")"
	}
	p.words(help)
}

// leavesOf are the commands below a command that can be run, or the command itself.
func leavesOf(node *kong.Node) (leaves []*kong.Node) {
	if len(node.Children) == 0 {
		return []*kong.Node{node}
	}
	for _, child := range shownIn(node) {
		leaves = append(leaves, leavesOf(child)...)
	}
	return leaves
}

// text writes paragraphs; lines that begin with blanks stay as they are.
func (p *manPage) text(text string) {
	for i, paragraph := range regexp.MustCompile(`\n\s*\n`).Split(text, -1) {
		if i > 0 {
			p.WriteString(".PP\n")
		}
		if !strings.HasPrefix(paragraph, "  ") {
			p.words(paragraph)
			continue
		}
		p.WriteString(".nf\n")
		for line := range strings.Lines(paragraph) {
			p.line(strings.TrimSuffix(line, "\n"))
		}
		p.WriteString(".fi\n")
	}
}

// words writes words on lines of an ordinary length.
func (p *manPage) words(text string) {
	const most = 78 // characters
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+len(word) >= most {
			p.line(line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		p.line(line)
	}
}

// line writes a line of text. It escapes a dot or a quote at its beginning, which roff would read as a request.
func (p *manPage) line(line string) {
	text := escaped(line)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	p.WriteString(text + "\n")
}

// escaped escapes the characters that have a meaning for roff.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...", "’", "'").Replace(text)
}
