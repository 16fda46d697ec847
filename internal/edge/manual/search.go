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
	return section{page: s.page, heading: s.heading, anchor: s.anchor, text: text,
		folded: strings.ToLower(s.heading + "\n" + text)}
}

// hit is a section that has all words of a search.
type hit struct {
	Link, Page, Heading   string
	Before, Found, Behind string // the text around the first word
	score                 int
}

// wordsOf splits a search into words.
func wordsOf(query string) []string {
	if len(query) > maxQuery {
		query = query[:maxQuery]
	}
	words := strings.FieldsFunc(strings.ToLower(strings.ToValidUTF8(query, " ")), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	})
	return words[:min(len(words), maxWords)]
}

// search returns the sections that contain every word, the best first. A word in a title counts more.
func (b *book) search(query string) []hit {
	words := wordsOf(query)
	if len(words) == 0 {
		return nil
	}
	var hits []hit
	for i := range b.sections {
		s := &b.sections[i]
		if score := s.score(words); score > 0 {
			found := hit{Link: s.page.Path, Page: s.page.Title, Heading: s.heading, score: score}
			if s.anchor != "" {
				found.Link += "#" + s.anchor
			}
			found.Before, found.Found, found.Behind = s.excerpt(words)
			hits = append(hits, found)
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	return hits[:min(len(hits), maxHits)]
}

// score is higher for a better hit, and 0 if a word is missing.
func (s *section) score(words []string) int {
	title, heading := strings.ToLower(s.page.Title), strings.ToLower(s.heading)
	score := 0
	for _, word := range words {
		times := strings.Count(s.folded, word)
		if times == 0 && !strings.Contains(title, word) {
			return 0
		}
		score += 1 + min(times, 5)
		if strings.Contains(heading, word) {
			score += 20
		}
		if strings.Contains(title, word) {
			score += 10
		}
	}
	if strings.HasPrefix(s.page.Path, "adr/") { // Decisions are listed after instructions.
		score = 1 + score/4
	}
	return score
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
