package template

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"

	"muster/internal/fleet"
)

// explanation says in a reader's words what is wrong, and how to mend it.
type explanation struct{ message, hint string }

// The parser's messages name its tokens. syntaxError puts what a person did in their place where it is known.
func syntaxError(text string, err error) *fleet.Error {
	var e syntax.Error
	if !errors.As(err, &e) {
		return invalid(spot{}, err.Error(), placeHint)
	}
	at := spotOf(e.Pos)
	if f := jinjaAround(text, offsetOf(text, at)); f != nil {
		f.hint = `Write the value without braces, as in "/srv/" + device.label.`
		return f.error(text)
	}
	line, code := lineOf(text, at.line), lineOf(blanked(text, true), at.line)
	if said := wordOfPython(code, e.Msg); said != nil {
		return invalid(at, said.message, said.hint)
	}
	for _, c := range otherLanguages {
		where := code
		if c.line == backslash {
			where = line
		}
		found := c.line.FindStringIndex(where)
		if found == nil || !strings.Contains(e.Msg, c.parser) {
			continue
		}
		if found[1] > 0 {
			at.column = utf8.RuneCountInString(line[:found[0]]) + 1
		}
		hint := c.hint
		if c.line == fString {
			hint = cmp.Or(withoutF(line), hint)
		}
		return invalid(at, c.message, hint)
	}
	if f := cmp.Or(expected(text, at, e.Msg), otherFault(at, e.Msg)); f != nil {
		return f
	}
	return invalid(at, e.Msg, placeHint)
}

const placeHint = "Look at this line and the one before it: brackets, quotes, colons and indentation."

// lineOf returns a line of a text; lines start at 1.
func lineOf(text string, line int) string {
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	return strings.TrimRight(lines[line-1], "\r")
}

// opensBlock matches a line that has to end with a colon.
var opensBlock = regexp.MustCompile(`^\s*(def|if|elif|else|for)\b`)

// firstWord matches the word at the beginning of a line.
var firstWord = regexp.MustCompile(`^\s*([a-z]+)\b`)

// wordOfPython explains a statement that Python has and Starlark has not.
func wordOfPython(line, message string) *explanation {
	found := firstWord.FindStringSubmatch(line)
	if found == nil {
		return nil
	}
	said, known := statementsOfPython[found[1]]
	if !known || !strings.Contains(message, found[1]) {
		return nil
	}
	return &said
}

const importMessage = "a template imports nothing: it has no modules, files, network or clock"

var statementsOfPython = map[string]explanation{
	"import": {importMessage, "Leave the line out. json and math are there without it."},
	"from":   {importMessage, "Leave the line out. json and math are there without it."},
	"class":  {"a template has no classes", `Write a dict: {"name": value}.`},
	"try": {"a template cannot catch errors", `Ask first: device.vars.get("name", otherwise), or ` +
		"`if x in list:`."},
	"except": {"a template cannot catch errors", `Ask first: device.vars.get("name", otherwise).`},
	"raise":  {"a template raises no exceptions", `Write fail("what is wrong").`},
	"assert": {"a template has no assert", `Write: if not …: fail("what is wrong").`},
	"while":  {"a template has no while", "Write a loop that ends: for i in range(10):"},
	"with":   {"a template has no with: it opens nothing", "Leave the line out."},
	"del":    {"a template has no del", "Write name.pop(key) for a dict or list of your own."},
	"global": {"a template has no global", "Return the value from the function, or pass it on."},
	"async":  {"a template has no async", "Write def."},
	"yield":  {"a template has no yield", "Collect the values in a list and return it."},
}

// backslash matches what begins an escape. It is searched within quotes too.
var backslash = regexp.MustCompile(`\\`)

// otherLanguages are what people bring along from other languages: how the line looks, apart from what stands in quotes
// and comments, and a part of what the parser says of it.
var otherLanguages = []struct {
	line   *regexp.Regexp
	parser string
	explanation
}{
	{fString, "string literal", explanation{
		"Starlark has no f-strings", `Write "Files of %s" % device.label, or "Files of " + device.label.`}},
	{regexp.MustCompile(`&&`), "'&'", explanation{"&& is not Starlark", "Write `and`."}},
	{regexp.MustCompile(`\|\|`), "'|'", explanation{"|| is not Starlark", "Write `or`."}},
	{regexp.MustCompile(`!`), "'!'", explanation{"! is not Starlark", "Write `not`."}},
	{regexp.MustCompile(`\?`), "'?'", explanation{"? is not Starlark", "Write `a if condition else b`."}},
	{regexp.MustCompile(`\$`), "'$'", explanation{"$ is not Starlark: a variable has no sign before it",
		"Write the name alone, as in device.label."}},
	{regexp.MustCompile(`//`), "'//'", explanation{"// begins no comment in a program", "Write # before a comment."}},
	{regexp.MustCompile(`^\s*/\*`), "'/'", explanation{"/* begins no comment in a program", "Write # before each line."}},
	{regexp.MustCompile(`\+\+|--`), "primary expression", explanation{"Starlark has no ++ and no --", "Write n += 1."}},
	{regexp.MustCompile(`^\s*else\s+if\b`), "", explanation{"Starlark has no else if", "Write `elif condition:`."}},
	{regexp.MustCompile(`^\s*elseif\b`), "", explanation{"Starlark has no elseif", "Write `elif condition:`."}},
	{regexp.MustCompile(`\bis\b`), "got is", explanation{"Starlark has no `is`", "Write == or !=."}},
	{regexp.MustCompile(`\bis\b`), "without else", explanation{"Starlark has no `is`", "Write == or !=."}},
	{regexp.MustCompile(`[^=!<>]=([^=]|$)`), "got '='", explanation{"one = gives a value to a name",
		"Write == to compare."}},
	{
		regexp.MustCompile(`\{[^:{}]*,`),
		"got ',', want ':'",
		explanation{"a value between braces has no name, and there are no sets",
			`Write ["a", "b"] for a list, or {"name": value}.`},
	},
	{regexp.MustCompile(``), "want indent", explanation{"the lines below this colon are not indented",
		"Put four blanks before each line of the block."}},
	{regexp.MustCompile(``), "got indent", explanation{
		"this line is indented more than the line before it, which ends without a colon",
		"Give all lines of a block the same blanks at the beginning; a tab counts as eight."}},
	{regexp.MustCompile(``), "unindent does not match", explanation{
		"this line is indented less than the line before it, and like no earlier line",
		"Give all lines of a block the same blanks at the beginning."}},
	{backslash, "invalid escape sequence", explanation{"a backslash in a text begins an escape",
		`Write \\ for each backslash, as in "C:\\Sync".`}},
	{
		regexp.MustCompile(``),
		"unexpected newline in string",
		explanation{"a text ends with its line, and its quote is missing",
			`Close the quote, or write """ around a text of several lines.`},
	},
}

// fString matches the beginning of an f-string, simpleFString one that has only names between its braces.
var (
	fString       = regexp.MustCompile(`\b([fF][rR]?|[rR][fF])["']`)
	simpleFString = regexp.MustCompile(`\b[fF](?:"([^"\\%]*)"|'([^'"\\%]*)')`)
	nameInBraces  = regexp.MustCompile(`\{([A-Za-z_][\w.]*)\}`)
)

// withoutF says what to write for the first f-string of a line, or "" if it is not simple.
func withoutF(line string) string {
	const longest = 80
	found := simpleFString.FindStringSubmatch(line)
	if found == nil || len(found[0]) > longest {
		return ""
	}
	text := found[1] + found[2]
	names := nameInBraces.FindAllStringSubmatch(text, -1)
	text = nameInBraces.ReplaceAllString(text, "%s")
	switch {
	case strings.ContainsAny(text, "{}"):
		return ""
	case len(names) == 0:
		return fmt.Sprintf(`Write "%s".`, text)
	case len(names) == 1:
		return fmt.Sprintf(`Write "%s" %% %s.`, text, names[0][1])
	}
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = name[1]
	}
	return fmt.Sprintf(`Write "%s" %% (%s).`, text, strings.Join(values, ", "))
}

// foreignNames are names of other languages that no template knows.
var foreignNames = map[string]explanation{
	"true":  {"true is written True in a program", "Write True."},
	"false": {"false is written False in a program", "Write False."},
	"null":  {"null is written None in a program", "Write None."},
	"none":  {"none is written None in a program", "Write None."},
	"nil":   {"nil is written None in a program", "Write None."},
	"open":  {"a template reads no files", "Put what differs into vars, and read device.vars."},
	"os":    {"a template cannot read the system that it runs on", "Read device.os, device.arch or device.vars."},
	"time": {
		"a template knows no time: equal inputs give equal values",
		"Put the value into a var, and read device.vars.",
	},
	"datetime": {
		"a template knows no time: equal inputs give equal values",
		"Put the value into a var, and read device.vars.",
	},
	"random": {"a template knows no chance: equal inputs give equal values", "Write hash(device.deviceID) % 60."},
	"re": {"a template has no regular expressions",
		`Write startswith, endswith, find, replace or split, as in device.label.startswith("a").`},
	"vars":  {"vars belong to a device", `Write device.vars, as in device.vars.get("name", 0).`},
	"item":  {"item is no name of Muster", "Write device for the template's device, or a loop: for d in devices()."},
	"self":  {"self is not defined", "Write device for the template's own device."},
	"input": {"a template asks nobody", "Put the value into a var, and read device.vars."},
}

// attribute matches what the interpreter says of x.name where x has no such name.
var attribute = regexp.MustCompile(`(\w+) has no \.(\w+) field or method`)

func inReadersWords(message string) string {
	if len(message) > maxExplained {
		return message
	}
	return attribute.ReplaceAllString(message, "a $1 has nothing named .$2")
}

// maxExplained is the length of messages that are looked at, in bytes. A program may fail with megabytes.
const maxExplained = 4 << 10

// explainEvaluation gives a hint for what the interpreter says when a program fails.
func explainEvaluation(message string) string {
	if len(message) > maxExplained {
		return ""
	}
	for _, c := range failures {
		if c.message.MatchString(message) {
			return c.hint
		}
	}
	return ""
}

var failures = []struct {
	message *regexp.Regexp
	hint    string
}{
	{regexp.MustCompile(`^a list has nothing named \.(has|hasTag|contains?|includes?|exists)$`),
		`in tells whether a list has a member: write "office" in device.tags.`},
	{regexp.MustCompile(`^a device has no field (has|hasTags?|has_tags?|isTagged|is_tagged|tagged)\b`),
		`Write "office" in device.tags, or "office" in d.tags for d of devices().`},
	{regexp.MustCompile(`^unknown binary op: \w+ in builtin_function_or_method`),
		`Write "office" in device.tags for one device; tags() has the tags of all devices.`},
	{regexp.MustCompile(`^a list has nothing named |^list index: got string, want int`),
		`Folders and devices are lists here. A member is found so: [f for f in config.folders if f.id == "photos"].`},
	{regexp.MustCompile(`builtin_function_or_method value is not iterable`),
		"Call the function, as in devices() or devices(tag=\"hub\")."},
	{regexp.MustCompile(`^devices: unexpected keyword argument`),
		`devices() takes a tag alone. By label: [d for d in devices() if d.label == "nas"].`},
	{regexp.MustCompile(`^devices: a tag is a string`),
		`Give one tag, and ask for the other: [d for d in devices(tag="hub") if "site:lima" in d.tags].`},
	{regexp.MustCompile(`vars has no field`), `Write .vars.get("name", otherwise) where a device may lack the var.`},
	{regexp.MustCompile(`has no field|has nothing named`), "Write one of the names that it has."},
	{regexp.MustCompile(`a key is a string`), `Write the key as a text: "1", or str(number).`},
	{regexp.MustCompile(`^unknown binary op: (string \+ (int|float)|(int|float) \+ string)`),
		`Write str(number), as in "port " + str(device.apiPort).`},
	{regexp.MustCompile(`^unknown binary op: `), "Both sides must be of one kind: str(x), int(x) and list(x) convert."},
	{regexp.MustCompile(`called recursively`), "A function cannot call itself: write a loop."},
	{
		regexp.MustCompile(`^can't assign to|^cannot insert|frozen`),
		"device, config and what they hold cannot be changed: return a new value, " +
			"as in config.options | {\"natEnabled\": False}.",
	},
	{regexp.MustCompile(`index \S+ out of range`), "Ask first: list[0] if list else otherwise."},
	{regexp.MustCompile(`not in dict|key .* not in`), `Write .get("name", otherwise).`},
}

// factsMeant gives, for names that other tools use, the fact that has the value here.
var factsMeant = map[string]string{"name": "label", "hostname": "label", "id": "deviceID", "device_id": "deviceID",
	"address": "apiAddress", "host": "apiAddress", "port": "apiPort", "platform": "os", "system": "os", "tag": "tags",
	"architecture": "arch", "variables": "vars"}

// peerMeant gives the same for names that mean something else of an element of devices().
var peerMeant = map[string]string{"address": "addresses", "addrs": "addresses", "syncAddress": "addresses",
	"syncAddresses": "addresses", "sync_address": "addresses"}

// noField says that something has no field of a name, and which fields it has.
func noField(what, name, meant string, names []string) string {
	const most = 70
	listed, more := names, ""
	if len(listed) > most {
		listed, more = listed[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	if meant != "" {
		meant = " (did you mean " + meant + "?)"
	}
	return fmt.Sprintf("%s has no field %s%s; it has %s%s", what, shorten(name), meant,
		cmp.Or(strings.Join(listed, ", "), "none"), more)
}
