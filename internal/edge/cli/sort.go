package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"muster/internal/fleet"
)

// sorting is the flag for the order of a list.
type sorting struct {
	Sort string `env:"-" help:"Order: a column of the table, as label, with hyphens for blanks; with - the other way round, as --sort -label." placeholder:"ORDER"`
}

// orders are the values of --sort: the columns of the table, or the name alone.
func (c columns[T]) orders() []string {
	var names []string
	for _, title := range c.titles {
		if title != "" {
			names = append(names, orderOf(title))
		}
	}
	if len(names) == 0 {
		names = []string{"name"}
	}
	return names
}

// orderOf is the value of --sort for the title of a column: to-go for "TO GO".
func orderOf(title string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !isLetterOrDigit(r) }), "-")
}

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// sameOrder reports whether two names mean the same order: needBytes and need-bytes do.
func sameOrder(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "-", ""), strings.ReplaceAll(b, "-", ""))
}

// sortValue is what a thing is sorted by. What is not known comes last in either direction.
type sortValue struct {
	text    string
	figure  int64
	unknown bool
}

// inOrder returns the things in the order that was asked for.
func inOrder[T any](s sorting, c columns[T], all []T) ([]T, error) {
	if s.Sort == "" {
		return all, nil
	}
	name, descending := strings.CutPrefix(s.Sort, "-")
	value, err := c.sortedBy(name)
	if err != nil {
		return nil, err
	}
	type pair struct {
		one T
		by  sortValue
	}
	pairs := make([]pair, len(all))
	for i, one := range all {
		pairs[i] = pair{one, value(one)}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return compareBy(a.by, b.by, descending) })
	sorted := make([]T, len(all))
	for i, p := range pairs {
		sorted[i] = p.one
	}
	return sorted, nil
}

func compareBy(a, b sortValue, descending bool) int {
	switch {
	case a.unknown || b.unknown:
		return cmp.Compare(boolean(a.unknown), boolean(b.unknown))
	case descending:
		a, b = b, a
	}
	return cmp.Or(cmp.Compare(a.figure, b.figure), compareTexts(a.text, b.text))
}

func boolean(is bool) int {
	if is {
		return 1
	}
	return 0
}

// sortedBy returns what gives the value of a thing in an order.
func (c columns[T]) sortedBy(name string) (func(T) sortValue, error) {
	for order, figure := range c.figures {
		if sameOrder(order, name) {
			return func(one T) sortValue {
				value := figure(one)
				return sortValue{figure: value, unknown: value < 0}
			}, nil
		}
	}
	at := slices.IndexFunc(c.titles, func(title string) bool { return title != "" && sameOrder(orderOf(title), name) })
	switch {
	case at >= 0:
		return func(one T) sortValue {
			text := c.row(one)[at]
			return sortValue{text: text, unknown: text == "" || text == "-"}
		}, nil
	case sameOrder(name, "name") && c.name != nil:
		return func(one T) sortValue { return sortValue{text: c.name(one)} }, nil
	}
	return nil, noOrder(name, c.orders())
}

// noOrder is the error about an order that a list does not have.
func noOrder(name string, orders []string) error {
	hint := "Write one of: " + strings.Join(orders, ", ") + "; with - before it for the other way round."
	if near := fleet.Nearest(name, orders); near != "" && near != name {
		hint = fmt.Sprintf("Did you mean %s? %s", near, hint)
	}
	return &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("--sort %q is no column of the list", name),
		Hint: hint}
}

// compareTexts compares texts as people sort names: letter case does not count, and numbers count as numbers.
func compareTexts(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	for len(x) > 0 && len(y) > 0 {
		digitsX, digitsY := digitsAt(x), digitsAt(y)
		if digitsX > 0 && digitsY > 0 {
			if order := compareNumbers(string(x[:digitsX]), string(y[:digitsY])); order != 0 {
				return order
			}
			x, y = x[digitsX:], y[digitsY:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// digitsAt is how many digits the text begins with.
func digitsAt(text []rune) int {
	if end := slices.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		return end
	}
	return len(text)
}

// compareNumbers compares numbers of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// namedOrder is an order in which the server sorts: the word of commands for it, and the server's.
type namedOrder struct{ word, server string }

func wordsOf(orders []namedOrder) []string {
	words := make([]string, len(orders))
	for i, order := range orders {
		words[i] = order.word
	}
	return words
}

// orderForServer is a value of --sort as the server takes it. Both words for an order are taken.
func orderForServer(orders []namedOrder, given string) (string, error) {
	name, descending := strings.CutPrefix(given, "-")
	name = cmp.Or(orderAliases[name], name)
	i := slices.IndexFunc(orders, func(o namedOrder) bool { return sameOrder(o.word, name) || sameOrder(o.server, name) })
	switch {
	case given == "":
		return "", nil
	case i < 0:
		return "", noOrder(name, wordsOf(orders))
	case descending:
		return "-" + orders[i].server, nil
	}
	return orders[i].server, nil
}
