package view

import (
	"fmt"
	"strings"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// TestDevicesWithoutAPlanHideNoRemoval covers a program that fails with another reason on each of 60 devices: all
// sentences were about them, and a removal had none.
func TestDevicesWithoutAPlanHideNoRemoval(t *testing.T) {
	const failing = 60
	sum := NewSentenceSum(sentenceLabel)
	for i := range failing {
		sum.Fail(fleet.DeviceIDOf([32]byte{9, byte(i)}), fmt.Sprintf("device %02d has no such var", i), false)
	}
	sum.Unread(sentenceDevices["berlin-1"])
	sum.Unread(sentenceDevices["berlin-2"])
	sum.Add(sentenceDevices["nas"],
		[]plan.Change{madeChange(t, plan.Change{}, "folders.team", teamFolder("", "nas", "oslo"), "")}, nil)
	got := sum.Summary()
	if len(got.Sentences) != maxSentences || got.MoreChanges != 0 || got.MoreDevices != 0 ||
		got.MoreWithoutPlan != failing+2-maxSentences {
		t.Fatalf("got %d sentences, %d more changes on %d devices, and %d without a plan", len(got.Sentences),
			got.MoreChanges, got.MoreDevices, got.MoreWithoutPlan)
	}
	for i, want := range map[int]SentenceKind{0: SentenceFailed, maxFailed - 1: SentenceFailed, maxFailed: SentenceUnread,
		maxFailed + 1: SentenceRemoved, maxFailed + 2: SentenceFailed} {
		if got.Sentences[i].Kind != want {
			t.Errorf("sentence %d is %+v, want %s", i, got.Sentences[i], want)
		}
	}
	if want := "2 devices were never read: what would change there is not known"; got.Sentences[maxFailed].Text != want {
		t.Errorf("got %q, want %q", got.Sentences[maxFailed].Text, want)
	}
}

func TestLargeNumbersInSentencesHaveSeparators(t *testing.T) {
	const devices = 1200
	sum := NewSentenceSum(func(id fleet.DeviceID) string { return id.Short() })
	var shares []string
	ids := make([]fleet.DeviceID, devices)
	for i := range ids {
		ids[i] = fleet.DeviceIDOf([32]byte{7, byte(i), byte(i >> 8)})
		shares = append(shares, fmt.Sprintf(`{"deviceID": %q, "encryptionPassword": "x"}`, ids[i]))
	}
	shares = append(shares, `{"deviceID": "`+string(sentenceDevices["oslo"])+`"}`)
	folder := `{"id": "team", "path": "/t", "devices": [` + strings.Join(shares, ",") + `]}`
	sum.Add(sentenceDevices["nas"], []plan.Change{madeChange(t, plan.Change{}, "folders.team", "", folder)}, nil)
	for _, id := range ids {
		sum.Add(id, []plan.Change{{Key: stconfig.Key{}.Child("options").Child("a"), From: stconfig.Text("x")}}, nil)
	}
	got := sum.Summary()
	if len(got.Sentences) != 2 || got.Removal != "1,200 changes take something away." ||
		got.Sentences[0].Text != `options.a is taken away (it is "x") on 1,200 devices` ||
		!strings.Contains(got.Sentences[1].Text, "and 1,198 more, encrypted for 1,200 of them") {
		t.Errorf("got %+v", got)
	}
	draft := sentenceDraft{isMutual: true, devices: ids[:2], first: sentenceMember{peers: devices}}
	if got := draft.whom("each other", ""); got != "each other and 1,199 others" {
		t.Errorf("got %q", got)
	}
	if got := others(1000, 1200); got != "1,000 to 1,200 others each" {
		t.Errorf("got %q", got)
	}
}

// TestOneCircleIsNotCounted covers sentences of which all but one are about strangers: the one that is left still names
// its peers.
func TestOneCircleIsNotCounted(t *testing.T) {
	implied := plan.Change{Class: plan.Implied, Reason: "a shared folder needs it"}
	planned := []plannedText{{device: "nas", key: "devices.<oslo>", to: entryOf("oslo", ""), change: implied}}
	for i, device := range []string{"berlin-1", "berlin-2", "berlin-3"} {
		unknown := fleet.DeviceIDOf([32]byte{8, byte(i)})
		planned = append(planned, plannedText{device: device, key: "devices." + string(unknown),
			to: fmt.Sprintf(`{"deviceID": %q, "name": "guest-%d"}`, unknown, i), change: implied})
	}
	got := summaryOf(t, planned...)
	var texts []string
	for _, one := range got.Sentences {
		texts = append(texts, one.Text)
	}
	if want := "nas gets to know oslo; a shared folder needs it"; !strings.Contains(strings.Join(texts, "\n"), want) {
		t.Errorf("got %q, want %q among them", texts, want)
	}
}
