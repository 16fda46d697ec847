package template

import (
	"fmt"
	"regexp"
	"strings"

	"go.starlark.net/syntax"
)

// jinja matches a placeholder or a statement of Jinja, Ansible and Go templates.
var jinja = regexp.MustCompile(`\{\{-?\s*[.$]?[A-Za-z_][\w.$]*(\[[^{}\[\]]*\]|\([^{}()]*\))?\s*(\|[^{}]*)?-?\}\}|` +
	`\{%-?\s*[a-z]+\b[^{}]*%\}`)

const jinjaHint = "Write a program, as in: def template(device): return \"/srv/\" + device.label."

func jinjaMessage(placeholder string) string {
	return fmt.Sprintf("%s is a placeholder of another template language (Jinja, Ansible, Go), and nothing fills it in",
		shorten(placeholder))
}

func jinjaFault(text string, start, end int) *fault {
	return &fault{at: start, reached: end, final: true, hint: jinjaHint, message: jinjaMessage(text[start:end])}
}

// jinjaAround makes the fault for a placeholder of another template language at the place of another fault, which it
// explains. It returns nil without one. The text may be in any language.
func jinjaAround(text string, at int) *fault {
	code := ""
	for _, found := range jinja.FindAllStringIndex(text, -1) {
		if at < found[0] || at > found[1] {
			continue
		}
		if code == "" {
			code = blanked(text, false)
		}
		if code[found[0]] == '{' {
			return jinjaFault(text, found[0], found[1])
		}
	}
	return nil
}

// blanked returns a program in which blanks stand for the comments, and with texts also for what is between quotes.
// Every byte that is left keeps its place.
func blanked(text string, texts bool) string {
	out, s := []byte(text), nestingScan{text: text}
	for s.at < len(text) {
		start, keep := s.at, 0
		switch c := text[s.at]; {
		case c == '#':
			if s.at = strings.IndexByte(text[start:], '\n') + start; s.at < start {
				s.at = len(text)
			}
		case isQuote(c):
			s.quoted(c)
			s.at = min(s.at, len(text))
			if keep = 1; !texts {
				continue
			}
		default:
			s.at++
			continue
		}
		for i := start + keep; i < s.at-keep; i++ {
			if text[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	return string(out)
}

// placeholder remembers a placeholder of another template language in a name or a text that the reader read from start
// to its place. read is what it read.
func (r *hjsonReader) placeholder(read string, start int) {
	if r.jinja != nil || !strings.Contains(read, "{{") && !strings.Contains(read, "{%") {
		return
	}
	found := jinja.FindString(read)
	if found == "" {
		return
	}
	if within := strings.Index(r.text[start:r.at], found); within >= 0 {
		start += within
	}
	r.jinja = &fault{at: start, reached: start, final: true, hint: jinjaHint, message: jinjaMessage(found)}
}

// jinjaIn finds a placeholder of another template language in a text of a program. message is "" without one.
func jinjaIn(text *syntax.Literal) (at spot, message, hint string) {
	found := jinja.FindStringIndex(text.Raw)
	if found == nil || text.Token != syntax.STRING {
		return spot{}, "", ""
	}
	within := position(text.Raw, found[0])
	at = spotOf(text.TokenPos)
	if within.line == 1 {
		at.column += within.column - 1
	} else {
		at = spot{at.line + within.line - 1, within.column}
	}
	return at, jinjaMessage(text.Raw[found[0]:found[1]]), withoutBraces(text.Raw)
}

// oneFact matches a text with one name between the braces of Jinja.
var oneFact = regexp.MustCompile(`^"([^"\\{}]*)\{\{\s*([A-Za-z_][\w.]*)\s*\}\}([^"\\{}]*)"$`)

// withoutBraces says what to write for a text with a placeholder.
func withoutBraces(raw string) string {
	if strings.Contains(raw, "{%") {
		return `Write conditions and loops as a program has them, as in "a" if device.os == "linux" else "b".`
	}
	parts := oneFact.FindStringSubmatch(raw)
	if parts == nil || raw != shorten(raw) {
		return `Put texts and values together with +, as in "/srv/" + device.label.`
	}
	var sum []string
	if parts[1] != "" {
		sum = append(sum, `"`+parts[1]+`"`)
	}
	if sum = append(sum, parts[2]); parts[3] != "" {
		sum = append(sum, `"`+parts[3]+`"`)
	}
	return fmt.Sprintf("Write %s.", strings.Join(sum, " + "))
}
