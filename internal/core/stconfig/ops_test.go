package stconfig

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"muster/internal/fleet"
)

var update = flag.Bool("update", false, "rewrite the expectations of the golden cases")

// The devices of the sample; NEW is in none of its lists.
const (
	own   = string(SampleID)
	nas   = "K4KRHSO-CKCSM2A-FW6WVO3-4B27H3A-62IDDET-2LWT2O6-UF2QV7Q-XDKPDAI"
	phone = "UAPHM7G-7QPB5KL-A5ZQHLL-LEO3TZS-OL36FBG-AGI4ON4-TMLKOSE-A7AJBQF"
	other = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
)

// placeholders keep the golden cases readable.
var placeholders = []string{"<OWN>", own, "<NAS>", nas, "<PHONE>", phone, "<NEW>", other}

// opsCase is one file of testdata/ops. Its head names op and key, and the document: the sample (of 2.1), v1.19, or the
// section `doc`. What comes out is told as a diff.
type opsCase struct {
	file    string
	archive *txtar.Archive
	head    map[string]string
}

func readOpsCase(t *testing.T, file string) opsCase {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := opsCase{file: file, archive: archive, head: map[string]string{}}
	for line := range strings.Lines(string(archive.Comment)) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\n"), ": "); ok {
			c.head[name] = strings.NewReplacer(placeholders...).Replace(value)
		}
	}
	return c
}

func (c opsCase) section(name string) string {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func (c opsCase) doc(t *testing.T) Value {
	t.Helper()
	if text := c.section("doc"); text != "" {
		return parsed(t, text)
	}
	if c.head["doc"] == "v1.19" {
		return oldDoc()
	}
	return Sample()
}

func parsed(t testing.TB, text string) Value {
	t.Helper()
	v, err := Parse([]byte(strings.NewReplacer(placeholders...).Replace(text)))
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return v
}

// run gives the sections that the case's outcome is written as.
func (c opsCase) run(t *testing.T) map[string]string {
	t.Helper()
	doc, value := c.doc(t), parsed(t, c.section("value"))
	key, err := ParseKey(c.head["key"])
	if err != nil {
		return map[string]string{"error": readable(err)}
	}
	before := string(doc.JSON())
	result, skips, err := Apply(doc, fleet.Op(c.head["op"]), key, value, SampleID)
	if string(doc.JSON()) != before {
		t.Errorf("%s: the document itself was changed", c.file)
	}
	if err != nil {
		return map[string]string{"error": readable(err)}
	}
	again, _, err := Apply(result, fleet.Op(c.head["op"]), key, value, SampleID)
	if err != nil || string(again.JSON()) != string(result.JSON()) {
		t.Errorf("%s: twice is not once (%v): %s", c.file, err, diffText(result, again))
	}
	out := map[string]string{"diff": diffText(doc, result)}
	for _, skip := range skips {
		out["skipped"] += fmt.Sprintf("%s: %s\n", skip.Key, skip.Reason)
	}
	return out
}

func readable(err error) string {
	text := err.Error()
	if e, ok := err.(*fleet.Error); ok && len(e.Details) > 0 && e.Details[0].Column > 0 {
		text = fmt.Sprintf("column %d: %s", e.Details[0].Column, text)
	}
	return text + "\n"
}

func diffText(from, to Value) string {
	var b strings.Builder
	for _, change := range Diff(from, to) {
		fmt.Fprintf(&b, "%s: %s -> %s\n", change.Key, shown(change.From), shown(change.To))
	}
	return b.String()
}

func shown(v Value) string {
	if !v.Exists() {
		return "(absent)"
	}
	return string(v.JSON())
}

func TestOps(t *testing.T) {
	files, err := filepath.Glob("testdata/ops/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	hide := make([]string, 0, len(placeholders))
	for i := 0; i < len(placeholders); i += 2 {
		hide = append(hide, placeholders[i+1], placeholders[i])
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			c := readOpsCase(t, file)
			got := c.run(t)
			var kept []txtar.File
			for _, f := range c.archive.Files {
				if f.Name == "doc" || f.Name == "value" {
					kept = append(kept, f)
				}
			}
			for _, name := range []string{"diff", "skipped", "error"} {
				text, has := got[name]
				text = strings.NewReplacer(hide...).Replace(text)
				if want := c.section(name); text != want && !*update {
					t.Errorf("%s:\ngot  %swant %s", name, text, want)
				}
				if has {
					kept = append(kept, txtar.File{Name: name, Data: []byte(text)})
				}
			}
			if *update {
				c.archive.Files = kept
				if err := os.WriteFile(file, txtar.Format(c.archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
