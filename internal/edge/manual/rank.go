package manual

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Weights of a word in a heading and in the title of a page, against its weight in the text.
const (
	headingWeight = 2.5
	titleWeight   = 1.5
	decisionShare = 0.15 // Decisions and the reference are listed after instructions.
)

// term is a word of a search with how rare it is in the manual.
type term struct {
	word   string
	weight float64
	times  []int // how often each section has it
}

// terms weighs the words of a search: a word that few sections have tells more than one that most have.
func (b *book) terms(words []string) []term {
	var all []term
	for _, word := range words {
		sections, times := 0, make([]int, len(b.sections))
		for i := range b.sections {
			if times[i] = occurrences(b.sections[i].folded, word); times[i] > 0 {
				sections++
			}
		}
		all = append(all, term{word, math.Log(1 + float64(len(b.sections))/float64(1+sections)), times})
	}
	return all
}

// score gives how well a section fits, by its number: more is better. found is the number of words that are there. A
// word counts less in a long section.
func (b *book) score(section int, terms []term) (score float64, found int) {
	s := &b.sections[section]
	const usualLength = 4000 // bytes
	slack := 0.5 + float64(len(s.folded))/usualLength
	heading := strings.ToLower(s.heading)
	for _, t := range terms {
		times := float64(t.times[section])
		inTitle := occurrences(s.title, t.word) > 0
		if times == 0 && !inTitle {
			continue
		}
		found++
		part := times / (times + slack)
		if occurrences(heading, t.word) > 0 {
			part += headingWeight
		}
		if inTitle {
			part += titleWeight
		}
		score += t.weight * part
	}
	// A section with all words goes before those that lack some.
	share := float64(found) / float64(max(len(terms), 1))
	score *= share * share
	if strings.HasPrefix(s.page.Path, "adr/") || strings.HasPrefix(s.page.Path, "api/") {
		score *= decisionShare
	}
	return score, found
}

// occurrences counts how often a word, another form of it or what the manual says for it is in a text.
func occurrences(text, word string) int {
	n := beginnings(text, stem(word))
	if n == 0 && len(word) >= 4 && strings.Contains(text, word) {
		n = 1 // a part of a name, as in maxSendKbps
	}
	for other := range strings.SplitSeq(otherWords[word], "|") {
		if other != "" {
			n = max(n, beginnings(text, other))
		}
	}
	return n
}

// stem leaves out the ending of a word.
func stem(word string) string {
	for _, ending := range []string{"ing", "ed", "es", "s"} {
		if short := strings.TrimSuffix(word, ending); short != word && len(short) >= 4 {
			return short
		}
	}
	return word
}

// beginnings counts where a word of the text begins with a stem. A short stem counts where it is the whole word.
func beginnings(text, stem string) (n int) {
	for at := 0; ; {
		i := strings.Index(text[at:], stem)
		if i < 0 || stem == "" {
			return n
		}
		at += i + len(stem)
		before, _ := utf8.DecodeLastRuneInString(text[:at-len(stem)])
		after, _ := utf8.DecodeRuneInString(text[at:])
		if !isOfWord(before) && (len(stem) > 3 || !isOfWord(after) || after == 's') {
			n++
		}
	}
}

func isOfWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
