// Command words counts phrases that make a reader stop, in comments and texts of the tree, and compares each count with
// the number in counts.txt. A count may only fall: the command fails when one is higher than its number. `-update`
// writes the numbers that have fallen. `-list PHRASE` prints where a phrase stands.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// fragment is the name for trailing comments that begin in the middle of a sentence. They are counted like a phrase.
const fragment = "(trailing fragment)"

// opening matches the first words of such a comment: prepositions, conjunctions, relative pronouns.
var opening = regexp.MustCompile(`^(of|as|also|likewise|with|without|from|for|in|by|at|to|until|till|before|after|` +
	`once|where|when|while|that|which|what|who|whose|whoever|whatever|if|unless|because|since|so|and|or|but|` +
	`neither|nor|none|nothing|nobody|only|both|either|not|is|are|was|were|has|have|had|one|such|else|then|made|said|` +
	`taken|seen|told|asked)\b`)

func main() {
	tree := flag.String("tree", ".", "root of the tree")
	update := flag.Bool("update", false, "write the numbers that have fallen")
	list := flag.String("list", "", "print the places of this phrase")
	flag.Parse()
	if err := run(*tree, *update, *list); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

func run(tree string, update bool, list string) error {
	file := filepath.Join(tree, "tools", "words", "counts.txt")
	numbers, err := readNumbers(file)
	if err != nil {
		return err
	}
	counts := make([]int, len(numbers))
	files, err := exec.Command("git", "-C", tree, "ls-files", "-z", "*.go", "*.ts", "*.tsx", "*.sql", "*.md").Output()
	if err != nil {
		return fmt.Errorf("list files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(files), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(tree, name))
		if errors.Is(err, os.ErrNotExist) { // The file is deleted in the working tree.
			continue
		}
		if err != nil {
			return err
		}
		for _, b := range blocks(name, text) {
			for i, n := range numbers {
				found := b.count(n.phrase)
				counts[i] += found
				if found > 0 && n.phrase == list {
					fmt.Printf("%s:%d: %s\n", name, b.line, b.text)
				}
			}
		}
	}
	if list != "" {
		return nil
	}
	return compare(file, numbers, counts, update)
}

// number is one line of counts.txt: how often a phrase may occur in the tree.
type number struct {
	most   int
	phrase string
}

func readNumbers(file string) ([]number, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var numbers []number
	for line := range strings.Lines(string(text)) {
		count, phrase, _ := strings.Cut(strings.TrimSpace(line), " ")
		most, err := strconv.Atoi(count)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: want a number and a phrase", file, line)
		}
		numbers = append(numbers, number{most: most, phrase: phrase})
	}
	return numbers, nil
}

func compare(file string, numbers []number, counts []int, update bool) error {
	var text bytes.Buffer
	var risen, fallen []string
	for i, n := range numbers {
		switch line := fmt.Sprintf("%q: %d, was %d", n.phrase, counts[i], n.most); {
		case counts[i] > n.most:
			risen = append(risen, line)
		case counts[i] < n.most:
			fallen = append(fallen, line)
		}
		fmt.Fprintf(&text, "%d %s\n", min(counts[i], n.most), n.phrase)
	}
	if len(fallen) > 0 && update {
		if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
			return err
		}
	} else if len(fallen) > 0 {
		fmt.Printf("words: fewer than before: lower the numbers with `go run ./words -tree .. -update` in tools/\n  %s\n",
			strings.Join(fallen, "\n  "))
	}
	if len(risen) > 0 {
		return fmt.Errorf("say it in plain words; `go run ./words -tree .. -list PHRASE` in tools/ shows the places:\n  %s",
			strings.Join(risen, "\n  "))
	}
	return nil
}

// block is a comment with its continuation lines, a string literal, or a paragraph of a file that is not Go.
type block struct {
	line     int
	text     string
	trailing bool // the comment follows code on the same line
}

func (b block) count(phrase string) int {
	if phrase == fragment {
		if b.trailing && opening.MatchString(b.text) {
			return 1
		}
		return 0
	}
	count, rest := 0, strings.ToLower(b.text)
	for {
		i := strings.Index(rest, phrase)
		if i < 0 {
			return count
		}
		end := i + len(phrase)
		if (i == 0 || !isLetter(rest[i-1])) && (end == len(rest) || !isLetter(rest[end])) {
			count++
		}
		rest = rest[end:]
	}
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

func blocks(name string, text []byte) []block {
	if filepath.Ext(name) == ".go" {
		return goBlocks(text, !strings.HasSuffix(name, "_test.go"))
	}
	// The lines of a paragraph are joined, so that a phrase that continues on the next line is found.
	var found []block
	line := 1
	for paragraph := range strings.SplitSeq(string(text), "\n\n") {
		found = append(found, block{line: line, text: strings.Join(strings.Fields(paragraph), " ")})
		line += strings.Count(paragraph, "\n") + 2
	}
	return found
}

func goBlocks(text []byte, trailing bool) []block {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	var found []block
	codeLine, commentLine := 0, 0 // the last lines with code and with a comment on its own line
	for {
		pos, tok, literal := s.Scan()
		line := file.Line(pos)
		switch {
		case tok == token.EOF:
			return found
		case tok == token.COMMENT:
			comment := strings.Join(strings.Fields(strings.Trim(literal, "/* ")), " ")
			if line == codeLine {
				found = append(found, block{line: line, text: comment, trailing: trailing})
				continue
			}
			if commentLine == line-1 && len(found) > 0 {
				found[len(found)-1].text += " " + comment
			} else {
				found = append(found, block{line: line, text: comment})
			}
			commentLine = line
		case tok == token.SEMICOLON && literal == "\n": // The scanner adds it at the end of a line.
		default:
			codeLine = line + strings.Count(literal, "\n")
			if tok == token.STRING {
				found = append(found, block{line: line, text: strings.Join(strings.Fields(literal), " ")})
			}
		}
	}
}
