package plan_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

const (
	copyFolder = "photos-x4kd"
)

// sharersOf are the devices with which the sample shares a folder.
func sharersOf(doc stconfig.Value, folder string) (peers []fleet.DeviceID) {
	for f := range doc.Get("folders").Values() {
		for share := range f.Get("devices").Values() {
			if id := share.Get("deviceID").Str(); f.Get("id").Str() == folder && id != string(stconfig.SampleID) {
				peers = append(peers, fleet.DeviceID(id))
			}
		}
	}
	return peers
}

// provenScene is a scene in which all devices that share the folder have everything of all others, and a policy asks
// for so many copies; 0: there is no policy.
func provenScene(t *testing.T, atLeast int) *scene {
	c := newScene(t)
	peers := sharersOf(c.observed, copyFolder)
	if len(peers) < 2 {
		t.Fatalf("the sample shares %s with %v", copyFolder, peers)
	}
	all := append([]fleet.DeviceID{stconfig.SampleID}, peers...)
	copies := fleet.FolderCopies{Plain: all, Shares: map[fleet.DeviceID][]fleet.DeviceID{stconfig.SampleID: peers}}
	if atLeast > 0 {
		copies.Policies = []fleet.CopyPolicy{{Folder: copyFolder, AtLeast: atLeast}}
	}
	for _, id := range all {
		copies.Data = append(copies.Data, fleet.CopiesOf{Owner: id, On: all, ReadAt: time.Unix(1, 0)})
		if id != stconfig.SampleID {
			copies.Shares[id] = []fleet.DeviceID{stconfig.SampleID}
		}
	}
	c.facts.Copies = func(folder string) fleet.FolderCopies {
		if folder == copyFolder {
			return copies
		}
		return fleet.FolderCopies{}
	}
	return c
}

func removing(key, text string) []fleet.Template {
	return []fleet.Template{{ID: 1, Op: fleet.OpRemove, Key: key, Text: text}}
}

func TestWhatLeavesTooFewProvenCopiesWaits(t *testing.T) {
	peer := string(sharersOf(stconfig.Sample(), copyFolder)[0])
	at := "folders." + copyFolder
	share := removing(at+".devices", `"`+peer+`"`)
	set := func(key, text string) []fleet.Template {
		return []fleet.Template{{ID: 1, Op: fleet.OpSet, Key: key, Text: text}}
	}
	for name, one := range map[string]struct {
		templates []fleet.Template
		at        string
		atLeast   int
		class     plan.Class
		reason    string // part of it; "": it says nothing of copies
	}{
		"a share":                     {share, at + ".devices." + peer, 3, plan.Held, "would be on 1"},
		"a share that is not needed":  {share, at + ".devices." + peer, 1, plan.Free, ""},
		"a share without a policy":    {share, at + ".devices." + peer, 0, plan.Free, ""},
		"a folder":                    {removing("folders", `"`+copyFolder+`"`), at, 3, plan.Held, "its files stay); what"},
		"a folder that is not needed": {removing("folders", `"`+copyFolder+`"`), at, 1, plan.Held, ""},
		"another path":                {set(at+".path", `"~/elsewhere"`), at + ".path", 3, plan.Held, "another path; what"},
		"another type": {set(at+".type", `"receiveencrypted"`), at + ".type", 3, plan.Held,
			"changes win; what"},
		"a type that is a copy": {set(at+".type", `"receiveonly"`), at + ".type", 3, plan.Held, ""},
		"another label":         {set(at+".label", `"L"`), at + ".label", 3, plan.Free, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := provenScene(t, one.atLeast)
			_, p, err := c.plan(one.templates)
			if err != nil {
				t.Fatal(err)
			}
			got, found := p.At(one.at)
			if !found || got.Class != one.class || got.Sendable() != (one.class != plan.Held) {
				t.Fatalf("%s is %s (%s), want %s: %v", one.at, got.Class, got.Reason, one.class, p.Changes)
			}
			says := strings.Contains(got.Reason, "proven")
			if says != (one.reason != "") || !strings.Contains(got.Reason, one.reason) ||
				says && !strings.HasSuffix(got.Reason, "(read 1970-01-01 00:00:01 UTC)") {
				t.Errorf("the reason is %q", got.Reason)
			}
		})
	}
}

// TestADeviceIsNotRemovedWithTheLastCopy covers shares that a daemon drops together with the device.
func TestADeviceIsNotRemovedWithTheLastCopy(t *testing.T) {
	peer := string(sharersOf(stconfig.Sample(), copyFolder)[0])
	c := provenScene(t, 3)
	_, p, err := c.plan(removing("devices", `"`+peer+`"`))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := p.At("devices." + peer)
	if got.Class != plan.Held || !strings.Contains(got.Reason, "would be on 1") || len(p.Sendable()) > 0 {
		t.Errorf("%s (%s), and %v would be sent", got.Class, got.Reason, p.Sendable())
	}
}

// TestARevokedDeviceIsNoCopy covers a device that an admin revoked: its removal waits for nothing.
func TestARevokedDeviceIsNoCopy(t *testing.T) {
	peer := sharersOf(stconfig.Sample(), copyFolder)[0]
	c := provenScene(t, 3)
	c.away = map[fleet.DeviceID]string{peer: "revoked"}
	_, p, err := c.plan(nil)
	if err != nil || len(p.Changes) == 0 || len(p.Sendable()) != len(p.Changes) {
		t.Errorf("%v, %v", p.Changes, err)
	}
}

// TestAnAnswerIsForTheNumberOfCopiesThatWasShown covers a copy that was lost between the question and the answer, and a
// later reading that found the same.
func TestAnAnswerIsForTheNumberOfCopiesThatWasShown(t *testing.T) {
	peer := string(sharersOf(stconfig.Sample(), copyFolder)[0])
	c := provenScene(t, 3)
	key := "folders." + copyFolder + ".devices." + peer
	planned := func() (string, string) {
		_, p, err := c.plan(removing("folders."+copyFolder+".devices", `"`+peer+`"`))
		if err != nil {
			t.Fatal(err)
		}
		change, _ := p.At(key)
		return change.ConsentDigest(stconfig.SampleID, []byte("k")), p.Digest
	}
	known := c.facts.Copies
	answer, digest := planned()
	c.facts.Copies = func(folder string) fleet.FolderCopies {
		copies := known(folder)
		for i := range copies.Data {
			copies.Data[i].ReadAt = time.Unix(2, 0)
		}
		return copies
	}
	if later, whole := planned(); later != answer || whole != digest {
		t.Error("a later reading of the same is another question")
	}
	c.facts.Copies = func(folder string) fleet.FolderCopies {
		copies := known(folder)
		more := fleet.DeviceID("another")
		for i := range copies.Data {
			copies.Data[i].On = append(slices.Clip(copies.Data[i].On), more)
		}
		peers := append(slices.Clip(copies.Shares[stconfig.SampleID]), more)
		copies.Plain = append(slices.Clip(copies.Plain), more)
		copies.Shares = maps.Clone(copies.Shares)
		copies.Shares[stconfig.SampleID], copies.Shares[more] = peers, []fleet.DeviceID{stconfig.SampleID}
		return copies
	}
	if more, _ := planned(); more != answer {
		t.Error("as many copies as before would be left, and it is another question")
	}
	c.facts.Copies = func(folder string) fleet.FolderCopies {
		copies := known(folder)
		copies.Policies = []fleet.CopyPolicy{{Folder: copyFolder, AtLeast: 4}}
		return copies
	}
	if other, whole := planned(); other == answer || whole == digest {
		t.Error("the policy asks for more, and the earlier answer still counts")
	}
}

// TestTheOnlyCopyIsNamedWithoutAPolicy covers a folder that is held anyway.
func TestTheOnlyCopyIsNamedWithoutAPolicy(t *testing.T) {
	c := newScene(t)
	c.facts.Copies = func(string) fleet.FolderCopies {
		return fleet.FolderCopies{Plain: []fleet.DeviceID{stconfig.SampleID},
			Data: []fleet.CopiesOf{{Owner: stconfig.SampleID, On: []fleet.DeviceID{stconfig.SampleID}}}}
	}
	_, p, err := c.plan(removing("folders", `"`+copyFolder+`"`))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := p.At("folders." + copyFolder)
	if got.Class != plan.Held || !strings.Contains(got.Reason, "no other device that Muster manages") {
		t.Errorf("%s: %s", got.Class, got.Reason)
	}
}
