package fleet

import (
	"fmt"
	"slices"
	"testing"
)

func declaredRegistry(templates int) *Registry {
	r := &Registry{Origins: map[int64]Origin{}}
	for i := range templates {
		id := int64(i + 1)
		t := Template{ID: id, Label: fmt.Sprint("t", id), Op: OpSet, Key: "options.maxSendKbps", Text: fmt.Sprint(id)}
		r.Templates = append(r.Templates, TaggedTemplate{Template: t, Tags: []Tag{"all"}})
		r.Origins[id] = Origin{Source: "repo", Name: t.Label}
	}
	return r
}

func declaredFile(name string, text string) DeclaredTemplate {
	return DeclaredTemplate{Name: name, Tags: []Tag{"all"},
		Template: Template{Label: name, Op: OpSet, Key: "options.maxSendKbps", Text: text}}
}

func adjusted(t *testing.T, r *Registry, d Declared) Adjustment {
	t.Helper()
	a, err := r.Adjustment(d)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestARenamedFileMadeASecondTemplateAndLeftTheFirst(t *testing.T) {
	r := declaredRegistry(2)
	a := adjusted(
		t,
		r,
		Declared{Source: "repo", Templates: []DeclaredTemplate{declaredFile("t1", "1"), declaredFile("new", "2")}},
	)
	if len(a.Edit.New) != 0 || len(a.Leftovers) != 0 || a.Edit.Files.Origins[2] != (Origin{"repo", "new"}) {
		t.Errorf("got %+v", a)
	}
	retagged := declaredFile("new", "2")
	retagged.Tags = []Tag{"x"}
	for name, files := range map[string][]DeclaredTemplate{
		"a copy beside it":        {declaredFile("t1", "1"), declaredFile("t2", "2"), declaredFile("copy", "2")},
		"two files with the text": {declaredFile("t1", "1"), declaredFile("a", "2"), declaredFile("b", "2")},
		"another text":            {declaredFile("t1", "1"), declaredFile("new", "3")},
		"other tags":              {declaredFile("t1", "1"), retagged},
	} {
		if a := adjusted(t, r, Declared{Source: "repo", Templates: files}); len(a.Edit.New) == 0 {
			t.Errorf("%s: no new template in %+v", name, a)
		}
	}
	r.Origins[2] = Origin{Source: "other", Name: "t2"}
	a = adjusted(
		t,
		r,
		Declared{Source: "repo", Templates: []DeclaredTemplate{declaredFile("t1", "1"), declaredFile("new", "2")}},
	)
	if len(a.Edit.New) != 1 {
		t.Errorf("the template of another source moved: %+v", a)
	}
}

func TestAFileRenamedToTheLabelOfATemplateWithoutSourceTookThatTemplate(t *testing.T) {
	r := declaredRegistry(3)
	r.Origins = map[int64]Origin{1: {"repo", "t1"}, 2: {"repo", "t2"}} // t3 was made by hand
	for text, want := range map[string]int64{"2": 2 /* renamed */, "3": 3 /* by its label */, "4": 3 /* and edited */} {
		a := adjusted(t, r, Declared{Source: "repo", Templates: []DeclaredTemplate{declaredFile("t1", "1"),
			declaredFile("t3", text)}})
		if len(a.Edit.New) != 0 || len(a.Edit.Files.Origins) != 1 ||
			a.Edit.Files.Origins[want] != (Origin{"repo", "t3"}) {
			t.Errorf("text %s: got %+v, want template %d", text, a, want)
		}
	}
	a := adjusted(t, r, Declared{Source: "repo", Templates: []DeclaredTemplate{declaredFile("t1", "1"),
		declaredFile("t2", "2"), declaredFile("t3", "2")}})
	if a.Edit.Files.Origins[3] != (Origin{"repo", "t3"}) {
		t.Errorf("a copy beside a file that is there took its template: %+v", a)
	}
}

func TestARevertedCommitLeftItsTemplateUnmentioned(t *testing.T) {
	r := declaredRegistry(20)
	r.Origins[3] = Origin{}
	r.Origins[4] = Origin{Source: "other", Name: "t4"}
	var files []DeclaredTemplate
	for i := range 18 {
		files = append(files, declaredFile(fmt.Sprint("t", i+3), fmt.Sprint(i+3)))
	}
	without := slices.DeleteFunc(
		slices.Clone(files),
		func(f DeclaredTemplate) bool { return f.Name == "t3" || f.Name == "t4" },
	)
	a := adjusted(t, r, Declared{Source: "repo", Templates: without})
	if !slices.Equal(a.Leftovers, []int64{1, 2}) || !slices.Equal(a.WithoutSource, []int64{3}) ||
		len(a.Edit.Deleted) != 0 {
		t.Errorf("got %v and %v, deleted %v", a.Leftovers, a.WithoutSource, a.Edit.Deleted)
	}
}

func TestAPartialCheckoutPrunedAllTemplates(t *testing.T) {
	r := declaredRegistry(20)
	for gone, many := range map[int]bool{0: false, 2: false, 3: true, 20: true} {
		var files []DeclaredTemplate
		for i := gone; i < 20; i++ {
			files = append(files, declaredFile(fmt.Sprint("t", i+1), fmt.Sprint(i+1)))
		}
		a := adjusted(t, r, Declared{Source: "repo", Prune: true, Templates: files})
		if len(a.Edit.Deleted) != gone || a.PrunesMany != many || len(a.Leftovers) != 0 {
			t.Errorf("without %d: deleted %d, many: %t", gone, len(a.Edit.Deleted), a.PrunesMany)
		}
	}
}
