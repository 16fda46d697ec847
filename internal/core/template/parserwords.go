package template

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"muster/internal/fleet"
)

// expectation matches what the parser says when it finds one token in the place of another.
var expectation = regexp.MustCompile(`^got (.+), want (.+)$`)

// parserFault is what the parser says of a text, and what stands around the place.
type parserFault struct {
	text      string
	at        spot
	got, want string // tokens as the parser names them
	offset    int    // byte offset of the place
	before    layout // The text before the place ends so.
	token     string // the word, text or sign at the place; "" at the end of a line
	end       bool   // Only white space and comments follow.
}

// expected puts a fault of the form "got X, want Y" in a reader's words. It is nil for another message.
func expected(text string, at spot, message string) *fleet.Error {
	words := expectation.FindStringSubmatch(message)
	if words == nil {
		return nil
	}
	f := parserFault{text: text, got: words[1], want: words[2], offset: offsetOf(text, at)}
	if f.got != "newline" && f.got != "end of file" {
		f.offset, f.token = tokenAt(text, f.offset)
	}
	f.at, f.before, f.end = position(text, f.offset), layoutOf(text[:f.offset]), firstToken(text[f.offset:]) == ""
	for _, try := range []func() *fleet.Error{f.annotation, f.lambda, f.block, f.unclosed, f.member, f.comma, f.value,
		f.leftOver} {
		if err := try(); err != nil {
			return err
		}
	}
	return f.fault(fmt.Sprintf("%s is missing before %s", tokenWord(f.want, ""), tokenWord(f.got, f.token)), placeHint)
}

// tokenWords are names of the parser for tokens, and a reader's.
var tokenWords = map[string]string{"newline": "the end of the line", "end of file": "the end of the text",
	"identifier": "a name", "primary expression": "a value", "int literal": "a number", "float literal": "a number",
	"string literal": "a text", "indent": "an indented block", "outdent": "the end of the block"}

func tokenWord(name, written string) string {
	if word, ok := tokenWords[name]; ok && (written == "" || strings.Contains(name, "line") || name == "outdent") {
		return word
	}
	return "`" + shorten(cmp.Or(written, strings.Trim(name, "'"))) + "`"
}

// annotation explains the types that Python lets people write at parameters, results and names.
func (f *parserFault) annotation() *fleet.Error {
	line := lineOf(f.text, f.at.line)
	inDef := strings.HasPrefix(strings.TrimSpace(line), "def ")
	after := f.text[min(len(f.text), f.offset+len(f.token)):]
	sameLine, _, _ := strings.Cut(after, "\n")
	switch {
	case f.token == ":=":
		return f.fault("Starlark has no :=", "Give the value to the name on a line of its own: name = value.")
	case inDef && f.token == "->", f.got == "':'" && firstToken(sameLine) != "" && (inDef && f.want == "')'" ||
		!inDef && f.want == "newline"):
		return f.fault("Starlark has no types at names", "Leave the type out, as in def template(device): or name = 1.")
	}
	return nil
}

func (f *parserFault) fault(message, hint string) *fleet.Error { return invalid(f.at, message, hint) }

var (
	lambdaBefore = regexp.MustCompile(`\blambda\b([\w\s,*=]*)$`)
	plainValueOf = regexp.MustCompile(`^[\w.]+`)
)

// lambda explains a lambda without a colon.
func (f *parserFault) lambda() *fleet.Error {
	before := lambdaBefore.FindStringSubmatch(f.text[max(0, f.offset-200):f.offset])
	if before == nil || f.want != "','" && f.want != "':'" {
		return nil
	}
	parameters := strings.Join(strings.Fields(before[1]), " ")
	value := cmp.Or(plainValueOf.FindString(f.text[f.offset:]), "value")
	return f.fault("a colon is missing between the parameters of lambda and its value",
		fmt.Sprintf("Write `lambda %s: %s`.", shorten(parameters), shorten(value)))
}

// block explains a line that opens a block and has something else than a colon at its end.
func (f *parserFault) block() *fleet.Error {
	if f.want != "':'" || len(f.before.open) > 0 {
		return nil
	}
	if f.got == "newline" {
		return f.withoutColon()
	}
	line := lineOf(f.text, f.at.line)
	if !opensBlock.MatchString(line) {
		return nil
	}
	head := strings.TrimSpace(f.text[f.before.lineStart:f.offset])
	switch f.token {
	case "{", "then", "do":
		return f.fault(fmt.Sprintf("a block begins with a colon here, not with %s", f.token),
			fmt.Sprintf("Write `%s:`, and indent the lines of the block by four blanks.", shorten(head)))
	}
	return f.fault(fmt.Sprintf("a colon is missing before `%s`", shorten(f.token)),
		fmt.Sprintf("Write `%s:` and then what follows.", shorten(head)))
}

// withoutColon explains a line, or several within brackets, that open a block and do not end with a colon. The parser
// notices it at the line after.
func (f *parserFault) withoutColon() *fleet.Error {
	last := f.before.codeEnd
	if !opensBlock.MatchString(f.text[f.before.lineStart:]) || strings.HasSuffix(f.text[:last], ":") {
		return nil
	}
	at := position(f.text, last)
	code := strings.TrimSpace(f.text[strings.LastIndexByte(f.text[:last], '\n')+1 : last])
	hint := fmt.Sprintf("Write `%s:`.", shorten(code))
	if strings.HasPrefix(strings.TrimLeft(f.text[last:], " \t"), "#") {
		hint = fmt.Sprintf("Write `%s:` before the comment.", shorten(code))
	}
	return invalid(at, "a colon is missing at the end of this line", hint)
}

var (
	closing   = map[byte]string{'(': ")", '[': "]", '{': "}"}
	statement = regexp.MustCompile(
		`^(return|def|if|elif|else|for|pass|break|continue)\b|^[\w.]+(\[[^\]\n]*\])?\s*[-+*/|]?=[^=]`,
	)
)

// unclosed explains a bracket that is not closed before the place.
func (f *parserFault) unclosed() *fleet.Error {
	if len(f.before.open) == 0 {
		return nil
	}
	open := f.before.open[len(f.before.open)-1]
	at, bracket := position(f.text, open), f.text[open]
	firstOfLine := strings.TrimSpace(f.text[strings.LastIndexByte(f.text[:f.offset], '\n')+1:f.offset]) == ""
	head := f.token == ":" && opensBlock.MatchString(lineOf(f.text, at.line))
	switch {
	case f.end, head, firstOfLine && at.line < f.at.line && statement.MatchString(f.text[f.offset:]):
	case f.token != "" && strings.Contains(")]}", f.token) && f.token != closing[bracket]:
		return f.fault(fmt.Sprintf("%s does not close the %c of line %d", f.token, bracket, at.line),
			fmt.Sprintf("Write %s before it.", closing[bracket]))
	default:
		return nil
	}
	last := strings.TrimSpace(f.text[open:f.before.codeEnd])
	hint := fmt.Sprintf("Write %s where it ends.", closing[bracket])
	if last == shorten(last) && !strings.Contains(last, "\n") {
		hint = fmt.Sprintf("Write `%s%s`.", last, closing[bracket])
	}
	return invalid(at, fmt.Sprintf("the %c that stands here is not closed", bracket), hint)
}

// member explains a member of a dict without a colon.
func (f *parserFault) member() *fleet.Error {
	if len(f.before.open) == 0 || f.want != "':'" || f.text[f.before.open[len(f.before.open)-1]] != '{' {
		return nil
	}
	switch f.token {
	case "for", "}", ",":
		return f.fault("a value between braces has no name, and there are no sets",
			`Write ["a", "b"] for a list, or {"name": value}.`)
	case "=":
		return f.fault("a colon stands between name and value, not =", `Write {"name": value}.`)
	}
	name := lastToken(f.text[:f.before.codeEnd])
	return f.fault(
		fmt.Sprintf("a colon is missing after %s", name),
		fmt.Sprintf("Write `%s: %s`.", name, shorten(f.token)),
	)
}

// comma explains two values without a comma between them.
func (f *parserFault) comma() *fleet.Error {
	if len(f.before.open) == 0 || !slices.Contains([]string{"','", "']'", "'}'", "')'"}, f.want) {
		return nil
	}
	if f.token == "=" {
		return f.fault("one = gives a value to a name", "Write == to compare.")
	}
	if f.token == ";" || f.token == ":" {
		return f.fault(fmt.Sprintf("%s does not belong here", f.token), "Write a comma between values.")
	}
	if strings.HasSuffix(strings.TrimRight(f.text[:f.before.codeEnd], " "), ",") || f.token == "for" {
		return nil
	}
	before := lastToken(f.text[:f.before.codeEnd])
	return f.fault(fmt.Sprintf("a comma is missing before %s", shorten(f.token)),
		fmt.Sprintf("Write `%s, %s`.", before, shorten(f.token)))
}

// value explains a place without the value that belongs there.
func (f *parserFault) value() *fleet.Error {
	switch {
	case f.want == "in":
		return f.fault("for has no in", "Write for d in devices():, or [d for d in devices()].")
	case f.want != "primary expression":
		return nil
	case f.token == "else", f.token == "elif", f.token == "if" && !f.end, f.token == "for":
		return f.fault(f.token+" has nothing before it that it belongs to",
			"else and elif stand below an if, at the same indentation; in a value write a if condition else b.")
	case f.got == "newline":
		return f.fault("a value is missing at the end of this line", "Write it, or leave out the sign or word before it.")
	}
	return f.fault(fmt.Sprintf("a value is missing before %s", tokenWord(f.got, f.token)),
		"Write it, or leave out the sign or word before it.")
}

// leftOver explains what follows on a line after the end of a statement.
func (f *parserFault) leftOver() *fleet.Error {
	if f.want != "newline" {
		return nil
	}
	switch {
	case f.token == "for":
		return f.fault("a list that a loop makes stands in brackets", "Write [d.label for d in devices()].")
	case f.token == "**":
		return f.fault("Starlark has no **", "Write a * a.")
	case f.got == "string literal" && regexp.MustCompile(`\b[a-z]\w*[ \t]*$`).MatchString(f.text[:f.offset]):
		name := lastToken(f.text[:f.before.codeEnd])
		return f.fault("a function is called with brackets", fmt.Sprintf("Write `%s(%s)`.", name, shorten(f.token)))
	}
	return f.fault(fmt.Sprintf("%s follows after the end of the statement", tokenWord(f.got, f.token)),
		"Write an operator, a comma or a quote where one is missing, or begin a new line.")
}

// layout is what a text has at its end.
type layout struct {
	open      []int // byte offsets of the brackets that are open, outermost first
	lineStart int   // byte offset where the last statement begins; brackets and texts join lines
	codeEnd   int   // byte offset after the last character that is neither blank nor comment
}

// layoutOf reads a text as Starlark does: brackets within texts and comments do not count.
func layoutOf(text string) (l layout) {
	s, fresh := nestingScan{text: text}, true
	for s.at < len(text) {
		start, c := s.at, text[s.at]
		switch {
		case c <= ' ':
			fresh = fresh || c == '\n' && len(l.open) == 0
			s.at++
			continue
		case c == '#':
			if s.at = strings.IndexByte(text[start:], '\n') + start; s.at < start {
				return l
			}
			continue
		}
		if fresh {
			l.lineStart, fresh = start, false
		}
		switch {
		case isQuote(c):
			s.quoted(c)
		case strings.IndexByte("([{", c) >= 0:
			l.open = append(l.open, start)
			s.at++
		case strings.IndexByte(")]}", c) >= 0:
			l.open = l.open[:max(0, len(l.open)-1)]
			s.at++
		default:
			s.at++
		}
		l.codeEnd = min(s.at, len(text))
	}
	return l
}

// offsetOf converts a line and a column of the parser to a byte offset.
func offsetOf(text string, at spot) int {
	start := 0
	for line := 1; line < at.line; line++ {
		end := strings.IndexByte(text[start:], '\n')
		if end < 0 {
			return len(text)
		}
		start += end + 1
	}
	for column := 1; column < at.column && start < len(text) && text[start] != '\n'; column++ {
		_, size := utf8.DecodeRuneInString(text[start:])
		start += size
	}
	return start
}

var tokens = regexp.MustCompile(`\*\*|->|:=|[=!<>/]=|//|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[\w.]+|[^\s\w]`)

// tokenAt returns the word, text or sign that ends at a place, has it inside or else begins there, and where it begins.
// The parser mostly names the place after the token that it did not expect.
func tokenAt(text string, at int) (start int, token string) {
	line := strings.LastIndexByte(text[:at], '\n') + 1
	end := strings.IndexByte(text[at:], '\n')
	if end = at + end; end < at {
		end = len(text)
	}
	for _, found := range tokens.FindAllStringIndex(text[line:end], -1) {
		switch from, to := line+found[0], line+found[1]; {
		case from == at && token == "", from < at && at <= to:
			start, token = from, text[from:to]
		}
	}
	if token == "" {
		start = at
	}
	return start, token
}

// firstToken returns the first word, text or sign after blanks and comments, or "".
func firstToken(text string) string {
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if !strings.HasPrefix(text, "#") {
			return tokens.FindString(text[:min(len(text), 1<<10)])
		}
		end := strings.IndexByte(text, '\n')
		if end < 0 {
			return ""
		}
		text = text[end:]
	}
}

// lastToken returns the last word, text or sign of a text.
func lastToken(text string) string {
	start := max(strings.LastIndexByte(text, '\n')+1, len(text)-1<<10)
	found := tokens.FindAllString(text[start:], -1)
	if len(found) == 0 {
		return ""
	}
	return shorten(found[len(found)-1])
}

// otherFaults are messages of the parser and its scanner that name no token in the place of another.
var otherFaults = []struct {
	message *regexp.Regexp
	explanation
}{
	{regexp.MustCompile(`^conditional expression without else`), explanation{"an if within a value has no else",
		"Write `a if condition else b`; to leave a value out, write if on a line of its own."}},
	{regexp.MustCompile(`does not associate with`), explanation{"one comparison cannot follow another",
		"Write both, with and between them: 0 < n and n < 9."}},
	{regexp.MustCompile(`^unexpected ['"]?([)\]}])`), explanation{"this bracket closes nothing",
		"Leave it out, or open it before."}},
	{regexp.MustCompile(`^not an identifier`), explanation{"a name is missing here",
		"Write a name: letters, digits and _, and no digit first."}},
	{regexp.MustCompile(`^obsolete form of octal literal`), explanation{"a number does not begin with 0",
		"Leave the 0 out; for permissions write a text, as in \"0755\"."}},
	{regexp.MustCompile(`^unexpected input character`), explanation{"this character means nothing in a program",
		"Leave it out; a text stands in straight quotes, as in \"photos\"."}},
}

// otherFault explains a message of the parser, or returns nil.
func otherFault(at spot, message string) *fleet.Error {
	for _, c := range otherFaults {
		if c.message.MatchString(message) {
			return invalid(at, c.explanation.message, c.hint)
		}
	}
	return nil
}
