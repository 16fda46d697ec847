package recipes

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page is where the recipes stand: what a person reads is what is tested.
const page = "../../docs/templates.md"

// member is a row of the page's table of devices.
type member struct {
	label string
	tags  []string
}

// recipe is one section "### N. Title" of the page.
type recipe struct {
	title     string
	templates []templateText
	results   []result
}

// templateText is a fenced block whose first line says `# op: OP, key: KEY, tags: TAG, TAG`. To a template that line
// is a comment, so a person may copy the whole block.
type templateText struct {
	op, key string
	tags    []string
	text    string
}

var (
	recipeTitle = regexp.MustCompile(`^### (\d+)\. (.+)$`)
	tableRow    = regexp.MustCompile("^\\| `(\\w+)` \\| (.+?) \\|")
	templateOf  = regexp.MustCompile(`^# op: (\w+), key: (\S*), tags: (.+)$`)
)

// readPage gives the fleet and the recipes of the page.
func readPage(t *testing.T) (fleet []member, recipes []recipe) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, text2, found := strings.Cut(string(text), "\n## Recipes\n")
	if !found {
		t.Fatalf("%s has no section Recipes", page)
	}
	lines := strings.Split(text2, "\n")
	for i := 0; i < len(lines); i++ {
		if row := tableRow.FindStringSubmatch(lines[i]); row != nil && len(recipes) == 0 {
			fleet = append(fleet, member{row[1], words(row[2])})
		}
		if title := recipeTitle.FindStringSubmatch(lines[i]); title != nil {
			recipes = append(recipes, recipe{title: title[2]})
		}
		language, fence := strings.CutPrefix(lines[i], "```")
		if !fence || len(recipes) == 0 {
			continue
		}
		end := slices.Index(lines[i+1:], "```")
		if end < 0 {
			t.Fatalf("the block after %q has no end", recipes[len(recipes)-1].title)
		}
		recipes[len(recipes)-1].add(t, language, lines[i+1:i+1+end])
		i += end + 1
	}
	return fleet, recipes
}

// add takes one fenced block into a recipe.
func (r *recipe) add(t *testing.T, language string, lines []string) {
	t.Helper()
	if language == "text" {
		for _, line := range lines {
			r.results = append(r.results, parseResult(t, line))
		}
		return
	}
	head := templateOf.FindStringSubmatch(lines[0])
	if head == nil {
		t.Fatalf("recipe %q: the first line of a template is `# op: OP, key: KEY, tags: TAG`, not %q", r.title, lines[0])
	}
	r.templates = append(r.templates, templateText{head[1], head[2], words(head[3]), strings.Join(lines, "\n") + "\n"})
}

// words splits a list at its commas; backquotes are only for the eye.
func words(list string) []string {
	var words []string
	for word := range strings.SplitSeq(strings.ReplaceAll(list, "`", ""), ",") {
		words = append(words, strings.TrimSpace(word))
	}
	return words
}
