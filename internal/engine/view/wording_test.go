package view

import (
	"strings"
	"testing"

	"muster/internal/core/plan"
)

// listText is a JSON list of long entries from first to last.
func listText(first, last int) string {
	entries := make([]string, 0, last-first+1)
	for i := first; i <= last; i++ {
		entries = append(entries, `"entry-`+strings.Repeat("x", 50)+string(rune('a'+i%26))+`"`)
	}
	return "[" + strings.Join(entries, ",") + "]"
}

func TestASentenceDoesNotHideWhatBecomesDifferent(t *testing.T) {
	const none, one = "Nothing is removed.", "1 change takes something away."
	long := strings.Repeat("x", 59)
	value := func(key, from, to string) []plannedText {
		return []plannedText{{device: "nas", key: key, from: from, to: to}}
	}
	testSentences(t, []sentenceCase{
		{name: "another list of the same length", planned: value("options.listenAddresses", listText(0, 2), listText(3, 5)),
			want:    []string{"options.listenAddresses loses 3 of 3 entries and becomes a list of 3 entries on nas"},
			removal: one},
		{name: "another order", planned: value("options.listenAddresses", `["a", "b"]`, `["b", "a"]`),
			want: []string{`options.listenAddresses becomes ["b","a"] instead of ["a","b"] on nas`}, removal: none},
		{name: "an entry for another", planned: value("options.listenAddresses", `["a", "b"]`, `["b", "c", "d"]`),
			want: []string{`options.listenAddresses becomes ["b","c","d"] instead of ["a","b"] on nas`}, removal: one},
		{name: "one of two equal entries", planned: value("options.listenAddresses", `["a", "a"]`, `["a", "b"]`),
			want: []string{`options.listenAddresses becomes ["a","b"] instead of ["a","a"] on nas`}, removal: one},
		{name: "an entry with an ID changes", planned: value("folders", `[{"id": "a", "paused": true}]`,
			`[{"id": "a", "paused": false}, {"id": "b"}]`), removal: none, want: []string{
			`folders becomes [{"id":"a","paused":false},{"id":"b"}] instead of [{"id":"a","paused":true}] on nas`}},
		{name: "a folder for another", planned: value("folders", `[{"id": "a"}]`, `[{"id": "b"}, {"id": "c"}]`),
			want: []string{`folders becomes [{"id":"b"},{"id":"c"}] instead of [{"id":"a"}] on nas`}, removal: one},
		{name: "a longer list", planned: value("options.listenAddresses", listText(0, 1), listText(0, 2)),
			want:    []string{"options.listenAddresses becomes a list of 3 entries instead of a list of 2 entries on nas"},
			removal: none},
		{name: "a shorter list with another entry", planned: value("options.listenAddresses", listText(0, 5), listText(4, 6)),
			want:    []string{"options.listenAddresses loses 4 of 6 entries and becomes a list of 3 entries on nas"},
			removal: one},
		{name: "texts that begin alike", planned: value("options.x", `"`+long+`-1"`, `"`+long+`-2"`),
			want: []string{"options.x becomes another text on nas"}, removal: none},
		{name: "an object of one field", planned: value("options.x", "1", `{"a": "`+long+`"}`),
			want: []string{"options.x becomes an object of 1 field instead of 1 on nas"}, removal: none},
		{name: "objects of the same size", planned: value("options.x", `{"a": "`+long+`-1"}`, `{"a": "`+long+`-2"}`),
			want: []string{"options.x becomes another object of 1 field on nas"}, removal: none},
		{name: "ignore patterns that all go", planned: value("ignores.team", listText(1, 200), "[]"),
			want: []string{"The list of ignore patterns of folder team loses 200 of 200 entries on nas"}, removal: one},
		{name: "a list that loses a short entry", planned: value("options.listenAddresses", `["a", "b", "c"]`, `["a", "c"]`),
			want: []string{`options.listenAddresses loses 1 of 3 entries ("b") on nas`}, removal: one},
		{name: "a list that loses its only entry", planned: value("options.listenAddresses", listText(1, 1), "[]"),
			want: []string{"options.listenAddresses loses 1 of 1 entry on nas"}, removal: one},
	})
	got := summaryOf(t, value("ignores.team", listText(1, 200), "[]")...)
	if got.Sentences[0].Kind != SentenceRemoved {
		t.Errorf("a list that only gets shorter is said to be %s", got.Sentences[0].Kind)
	}
}

func TestARemovedFolderIsNotSaidToSetValues(t *testing.T) {
	folder := teamFolder(`, "paused": true, "versioning": {"type": "trashcan"}, "rescanIntervalS": 77`, "nas", "oslo")
	testSentences(t, []sentenceCase{
		{name: "removed", removal: "1 change takes something away.",
			planned: []plannedText{{device: "nas", key: "folders.team", from: folder}},
			want:    []string{"Team (~/Team) is removed from nas (its files stay), where it is shared with oslo"}},
		{name: "added", removal: "Nothing is removed.",
			planned: []plannedText{{device: "nas", key: "folders.team", to: folder}},
			want: []string{
				"Team (~/Team) is added on nas, shared with oslo, paused, sets rescanIntervalS and versioning"}},
		{name: "a share with a field", removal: "Nothing is removed.",
			planned: []plannedText{{device: "nas", key: "folders.team.devices.<oslo>",
				to: `{"deviceID": "<oslo>", "introducedBy": "<berlin-1>", "encryptionPassword": ""}`}},
			want: []string{"Folder team is shared with oslo too, on nas, sets introducedBy"}},
	})
}

func TestSentencesOfEntriesAndSharesHaveTheirGrammar(t *testing.T) {
	field := func(device, key string) plannedText {
		return plannedText{device: device, key: key, from: `"metadata"`, to: `"always"`}
	}
	const becomes, nothing = " becomes \"always\" instead of \"metadata\" on ", "Nothing is removed."
	unshared := func(device, other string) plannedText {
		return plannedText{
			device: device,
			key:    "folders.team.devices.<" + other + ">",
			from:   `{"deviceID": "<` + other + `>"}`,
		}
	}
	skipped := plan.Change{Class: plan.Skipped, Reason: "not there"}
	testSentences(t, []sentenceCase{
		{name: "entries of two", removal: nothing, planned: []plannedText{
			field("berlin-1", "devices.<oslo>.compression"), field("berlin-1", "devices.<nas>.compression")},
			want: []string{"Entries of nas and oslo: compression" + becomes + "berlin-1"}},
		{name: "shares of two", removal: nothing, planned: []plannedText{
			field("berlin-1", "folders.team.devices.<oslo>.x"), field("berlin-1", "folders.team.devices.<nas>.x")},
			want: []string{"Folder team, shares of nas and oslo: x" + becomes + "berlin-1"}},
		{name: "share of one", removal: nothing, planned: []plannedText{field("berlin-1", "folders.team.devices.<oslo>.x")},
			want: []string{"Folder team, share of oslo: x" + becomes + "berlin-1"}},
		{name: "entries of each other", removal: nothing, planned: []plannedText{
			field("oslo", "devices.<nas>.compression"), field("nas", "devices.<oslo>.compression")},
			want: []string{"Their entries of each other: compression" + becomes + "2 devices"}},
		{name: "shares of each other", removal: nothing, planned: []plannedText{
			field("oslo", "folders.team.devices.<nas>.x"), field("nas", "folders.team.devices.<oslo>.x")},
			want: []string{"Folder team, their shares of each other: x" + becomes + "2 devices"}},
		{name: "own share", removal: nothing, planned: []plannedText{field("oslo", "folders.team.devices.<oslo>.x")},
			want: []string{"Folder team, its share of itself: x" + becomes + "oslo"}},
		{name: "own entries", removal: nothing, planned: []plannedText{
			field("oslo", "devices.<oslo>.compression"), field("nas", "devices.<nas>.compression")},
			want: []string{"Their entries of themselves: compression" + becomes + "2 devices"}},
		{name: "whole entries", removal: nothing, planned: []plannedText{
			{
				device: "nas",
				key:    "devices.<oslo>",
				change: skipped,
			},
			{device: "nas", key: "devices.<berlin-1>", change: skipped},
		},
			want: []string{"Entries of berlin-1 and oslo: each is left out on nas: not there"}},
		{name: "no longer shared with each other", removal: "2 changes take something away.",
			planned: []plannedText{unshared("nas", "oslo"), unshared("oslo", "nas")},
			want:    []string{"2 devices no longer share folder team with each other"}},
	})
}
