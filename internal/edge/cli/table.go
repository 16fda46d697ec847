package cli

import (
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

const (
	columnGap   = 2 // blanks
	leastColumn = 8 // characters that a column keeps
)

// table aligns rows whose cells have tabs between them. On a terminal it cuts the widest cells until rows fit. The
// first column stays whole: people copy it into commands.
type table struct {
	out  io.Writer
	text strings.Builder
}

func newTable(out io.Writer) *table { return &table{out: out} }

// Write adds text; rows end with a line end.
func (t *table) Write(text []byte) (int, error) { return t.text.Write(text) }

// Flush writes all rows.
func (t *table) Flush() error {
	var rows [][]string
	var widths []int
	for line := range strings.Lines(t.text.String()) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], runewidth.StringWidth(cell))
		}
		rows = append(rows, cells)
	}
	if room := terminalWidth(t.out); room > 0 {
		fit(widths, room)
	}
	var all strings.Builder
	for _, cells := range rows {
		for i, cell := range cells {
			cell = runewidth.Truncate(cell, widths[i], "…")
			if i < len(cells)-1 {
				cell += strings.Repeat(" ", widths[i]-runewidth.StringWidth(cell)+columnGap)
			}
			all.WriteString(cell)
		}
		all.WriteByte('\n')
	}
	t.text.Reset()
	_, err := io.WriteString(t.out, all.String())
	return err
}

// fit narrows the widest columns until a row has at most room characters, or no column can become narrower.
func fit(widths []int, room int) {
	for total(widths) > room {
		widest := 0
		for i := 1; i < len(widths); i++ {
			if widths[i] > leastColumn && (widest == 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest == 0 {
			return
		}
		widths[widest]--
	}
}

func total(widths []int) int {
	sum := columnGap * (len(widths) - 1)
	for _, width := range widths {
		sum += width
	}
	return sum
}

// terminalOf is the terminal behind a writer, nil without one.
func terminalOf(out io.Writer) *os.File {
	if s, ok := out.(*screen); ok {
		out = s.of
	}
	file, isFile := out.(*os.File)
	if !isFile || !isatty.IsTerminal(file.Fd()) {
		return nil
	}
	return file
}

// isTerminal reports whether a person types what is read.
func isTerminal(in io.Reader) bool {
	file, isFile := in.(*os.File)
	return isFile && isatty.IsTerminal(file.Fd())
}

// terminalWidth is 0 where no terminal is written to, or its width is not known.
func terminalWidth(out io.Writer) int {
	file := terminalOf(out)
	if file == nil {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}
