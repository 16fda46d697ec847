package manual

import (
	"slices"
	"strings"
	"testing"
)

// questions are what a buyer, an operator and an auditor ask, and the page that has the answer.
var questions = []struct{ ask, page string }{
	// a buyer
	{"high availability", "lasting"},
	{"sizing", "sizing"},
	{"how much memory does the server need?", "sizing"},
	{"which database: sqlite or postgresql?", "sizing"},
	{"ansible", "coming-from"},
	{"single sign-on keycloak", "sign-on"},
	{"what happens when the server is down?", "lasting"},
	{"what does template mean, glossary", "glossary"},
	{"does muster delete files?", "lasting"},
	{"removing muster for good", "lasting"},
	{"tag scope part of the fleet", "operating"},
	{"install debian package", "install"},
	{"container image", "install"},
	{"prometheus grafana", "install"},
	// an operator
	{"rollback", "lasting"},
	{"rolling back", "lasting"},
	{"sleep", "lasting"},
	{"laptop", "lasting"},
	{"laptop stolen", "operating"},
	{"moving a device to another server", "lasting"},
	{"reverse proxy nginx", "proxies"},
	{"haproxy", "proxies"},
	{"acme certbot", "proxies"},
	{"redirect from http", "proxies"},
	{"unix sockets", "proxies"},
	{"restore a backup", "backup"},
	{"another machine or database", "backup"},
	{"ignore patterns", "templates"},
	{"hubs without discovery", "templates"},
	{"how do I stop everything?", "operating"},
	{"agent behind nat", "agent"},
	{"webhook mail", "notifications"},
	{"which files fail?", "where-are-my-files"},
	{"upgrade syncthing", "upgrade"},
	{"vars of a device", "templates"},
	// an auditor
	{"who did what", "audit"},
	{"audit verify", "audit"},
	{"out of scope", "security"},
	{"secrets in a template", "templates"},
	{"what may authors do", "templates"},
	{"approval threshold", "operating|settings"},
	{"session ends", "sign-on"},
}

// Each question leads to a page with its answer: one is among the first three that the search finds.
func TestNinetyQuestionsFindTheirPage(t *testing.T) {
	b, err := served.open()
	if err != nil {
		t.Fatal(err)
	}
	if all := len(questions) + len(sentences); all < 90 {
		t.Fatalf("got %d questions, want 90 or more", all)
	}
	for _, question := range slices.Concat(questions, sentences) {
		var first []string
		for _, h := range b.search(question.ask) {
			if page, _, _ := strings.Cut(h.Link, "#"); !slices.Contains(first, page) && len(first) < 3 {
				first = append(first, page)
			}
		}
		isFirst := func(page string) bool { return slices.Contains(first, page) }
		if !slices.ContainsFunc(strings.Split(question.page, "|"), isFirst) {
			t.Errorf("%q finds %q, want %s", question.ask, first, question.page)
		}
	}
}

// A search that left out one word after the other in each order took minutes for eight words that no page has.
func TestASearchLeavesOutWordsThatNoPageHas(t *testing.T) {
	b, err := served.open()
	if err != nil {
		t.Fatal(err)
	}
	for query, found := range map[string]bool{
		"zzqa rollout undo":                             true,
		"zzqa zzqb rollout undo":                        true,
		"zzqa zzqb undo":                                false,
		"zzqa undo":                                     false,
		"zzqa zzqb zzqc zzqd zzqe zzqf zzqg zzqh":       false,
		"zzqa zzqb zzqc zzqd zzqe zzqf zzqg undo":       false,
		"zzqa zzqb zzqc zzqd zzqe zzqf undo rollout":    true,
		"zzqa zzqb zzqc zzqd zzqe zzqf zzqg zzqh undo ": false,
	} {
		if hits := b.search(query); len(hits) > 0 != found {
			t.Errorf("%q finds %d sections, want some: %v", query, len(hits), found)
		}
	}
}
