package manual

import (
	"cmp"
	"html/template"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/text"
)

// Everybody may search. These limits bound the cost of one search.
const (
	maxQuery = 200 // bytes
	maxWords = 8
	maxHits  = 40
)

// section is the text between two headings of a page. It is the unit that a search finds.
type section struct {
	page            *page
	heading, anchor string
	words           strings.Builder // while the page is read
	text            string
	folded          string // heading and text in lower case
	title           string // the title of the page in lower case
}

func (s *section) add(text []byte, after string) {
	s.words.Write(text)
	s.words.WriteString(after)
}

func (s *section) addLines(lines *text.Segments, source []byte) {
	for i := range lines.Len() {
		line := lines.At(i)
		s.add(line.Value(source), " ")
	}
}

func (s *section) finished() section {
	text := strings.Join(strings.Fields(s.words.String()), " ")
	return section{page: s.page, heading: s.heading, anchor: s.anchor, text: text, title: strings.ToLower(s.page.Title),
		folded: strings.ToLower(s.heading + "\n" + text)}
}

// hit is a section that has words of a search.
type hit struct {
	Link, Page, Heading   string
	Before, Found, Behind string // the text around the first word

	section *section
	score   float64
}

// wordsOf splits a search into words.
func wordsOf(query string) []string {
	if len(query) > maxQuery {
		query = query[:maxQuery]
	}
	words := strings.FieldsFunc(strings.ToLower(strings.ToValidUTF8(query, " ")), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	})
	said := slices.DeleteFunc(
		slices.Clone(words),
		func(word string) bool { return questionWords[strings.Trim(word, "?.!,")] },
	)
	if len(said) > 0 {
		words = said
	}
	for i, word := range words {
		if trimmed := strings.TrimRight(word, "?!,:"); trimmed != "" {
			words[i] = trimmed
		}
	}
	return words[:min(len(words), maxWords)]
}

// questionWords are left out of a search that has other words.
var questionWords = setOf(
	"a an and are be by can do does for from has have how i in is it its many may me much my of on " +
		"now get again its it's " +
		"one our should than that the there they this to we what when where which who why will with you your",
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// otherWords gives, for words that people use, those of the manual.
var otherWords = map[string]string{
	"2fa":            "second factor",
	"alert":          "notification",
	"alerts":         "notification",
	"authentication": "log-in|sign-on|second factor",
	"compose":        "container",
	"crash":          "down",
	"crashes":        "down",
	"dies":           "down",
	"docker":         "container",
	"dry-run":        "plan",
	"exclude":        "ignore",
	"eyes":           "another person",
	"failover":       "high availability",
	"forgot":         "forgot|login-link",
	"gdpr":           "personal data",
	"ha":             "high availability",
	"hardware":       "sizing",
	"kubernetes":     "container",
	"laptops":        "laptop",
	"letsencrypt":    "acme",
	"lost":           "lost|stolen|gone for good",
	"mfa":            "second factor",
	"okta":           "single sign-on",
	"performance":    "sizing|memory",
	"permission":     "role",
	"permissions":    "role",
	"podman":         "container",
	"privilege":      "role",
	"ram":            "memory",
	"recycle":        "revisions",
	"requirements":   "sizing",
	"reverse-proxy":  "reverse proxy",
	"rid":            "removing",
	"rollback":       "undo|rolling back",
	"rotate":         "set-key|reseal|another key",
	"siem":           "event log",
	"speed":          "limit|bandwidth|rates",
	"splunk":         "event log|export",
	"sso":            "single sign-on",
	"threat":         "security",
	"two-factor":     "second factor",
	"try":            "try|observe",
	"undo":           "undo|roll back",
	"uninstall":      "removing",
	"upgrading":      "upgrade",
}

// search returns the sections that contain the words, the best first. A rare word counts more, and so does one in a
// title. A section must have two of the words at least, or the only one.
func (b *book) search(query string) []hit {
	words := wordsOf(query)
	terms := b.terms(words)
	var hits []hit
	for i := range b.sections {
		if score, found := b.score(i, terms); score > 0 && found >= min(len(words), 2) {
			hits = append(hits, hit{section: &b.sections[i], score: score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	hits = hits[:min(len(hits), maxHits)]
	for i := range hits {
		hits[i].show(words)
	}
	return hits
}

// show fills in what the page shows of a hit.
func (h *hit) show(words []string) {
	s := h.section
	h.Link, h.Page, h.Heading = s.page.Path, s.page.Title, s.heading
	if s.anchor != "" {
		h.Link += "#" + s.anchor
	}
	h.Before, h.Found, h.Behind = s.excerpt(words)
}

// excerpt returns the text around the first word that was found.
func (s *section) excerpt(words []string) (before, found, behind string) {
	const around = 110 // bytes
	folded := strings.ToLower(s.text)
	at, end := -1, 0
	for _, word := range words {
		if i := strings.Index(folded, word); i >= 0 && len(folded) == len(s.text) {
			at, end = i, i+len(word)
			break
		}
	}
	if at < 0 {
		return s.text[:boundary(s.text, 2*around)], "", ""
	}
	from, to := boundary(s.text, at-around), boundary(s.text, end+around)
	return s.text[from:at], s.text[at:end], s.text[end:to]
}

// boundary returns the start of the character at a position.
func boundary(text string, at int) int {
	at = max(0, min(at, len(text)))
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// results is the data of the page with the results of a search.
type results struct {
	Query string
	Hits  []hit
	Docs  template.URL
}
