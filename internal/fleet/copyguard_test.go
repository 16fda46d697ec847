package fleet

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// star is a folder that a hub shares with two devices, which do not share it with each other. Everything is proven.
func star(policies string) FolderCopies {
	parsed, err := ParseCopyPolicies(policies)
	if err != nil {
		panic(err)
	}
	all := []DeviceID{"hub", "a", "b"}
	copies := FolderCopies{Policies: parsed, Plain: all,
		Tags:   map[DeviceID][]Tag{"hub": {"site:x"}, "a": {"site:x"}, "b": {"site:y"}},
		Shares: map[DeviceID][]DeviceID{"hub": {"a", "b"}, "a": {"hub"}, "b": {"hub"}}}
	for _, id := range all {
		copies.Data = append(copies.Data, CopiesOf{Owner: id, On: all, ReadAt: time.Unix(1, 0)})
	}
	return copies
}

func whole(id DeviceID) CopyLoss { return CopyLoss{Folder: "f", Device: id} }
func unshare(id, peer DeviceID) CopyLoss {
	return CopyLoss{Folder: "f", Device: id, Peers: []DeviceID{peer}}
}
func unread(f FolderCopies) FolderCopies {
	return onlyOwn(f, func(d *CopiesOf) { d.ReadAt = time.Time{} })
}
func unproven(f FolderCopies) FolderCopies { return onlyOwn(f, func(*CopiesOf) {}) }
func encryptedB(f FolderCopies) FolderCopies {
	f.Plain, f.Data = f.Plain[:2], f.Data[:2]
	for i := range f.Data {
		f.Data[i].On = f.Plain
	}
	return f
}

// notProvenOn has a device of which nothing is proven.
func notProvenOn(f FolderCopies, id DeviceID) FolderCopies {
	for i, data := range f.Data {
		f.Data[i].On = slices.DeleteFunc(slices.Clone(data.On), func(on DeviceID) bool { return on == id })
	}
	return f
}

func onlyOwn(f FolderCopies, change func(*CopiesOf)) FolderCopies {
	for i := range f.Data {
		f.Data[i].On = []DeviceID{f.Data[i].Owner}
		change(&f.Data[i])
	}
	return f
}

func TestALossIsBadWhereWhatIsLeftIsNotProvenToBeEnough(t *testing.T) {
	meshed := func(f FolderCopies) FolderCopies {
		f.Shares["a"], f.Shares["b"] = []DeviceID{"hub", "b"}, []DeviceID{"hub", "a"}
		return f
	}
	going := func(f FolderCopies, losses ...CopyLoss) FolderCopies {
		f.Going = losses
		return f
	}
	share := []CopyLoss{unshare("hub", "a")}
	for name, one := range map[string]struct {
		copies        FolderCopies
		losses        []CopyLoss
		before, after int // after is -1 where nothing is bad
	}{
		"a copy too many goes":               {star("f=2"), []CopyLoss{whole("a")}, 0, -1},
		"a copy that is needed goes":         {star("f=3"), []CopyLoss{whole("a")}, 3, 2},
		"two copies go":                      {star("f=2"), []CopyLoss{whole("a"), whole("b")}, 3, 1},
		"another goes at the same time":      {going(star("f=2"), whole("b")), []CopyLoss{whole("a")}, 2, 1},
		"the hub goes, and with it the way":  {star("f=2"), []CopyLoss{whole("hub")}, 3, 1},
		"the hub goes from a mesh":           {meshed(star("f=2")), []CopyLoss{whole("hub")}, 0, -1},
		"a share goes":                       {star("f=3"), []CopyLoss{unshare("hub", "a")}, 3, 1},
		"a share goes, and another way is":   {meshed(star("f=3")), []CopyLoss{unshare("hub", "a")}, 0, -1},
		"the other way is not proven":        {notProvenOn(meshed(star("f=2")), "b"), share, 2, 1},
		"the last way goes":                  {going(meshed(star("f=3")), unshare("b", "a")), share, 3, 1},
		"a place goes":                       {star("f=2 across site:*"), []CopyLoss{whole("b")}, 2, 1},
		"a copy of a place with two goes":    {star("f=2 across site:*"), []CopyLoss{whole("a")}, 0, -1},
		"nothing is proven":                  {unread(star("f=2")), []CopyLoss{unshare("hub", "a")}, 1, 1},
		"an encrypted copy goes":             {encryptedB(star("f=2")), []CopyLoss{unshare("hub", "b")}, 0, -1},
		"a device of nobody goes":            {star("f=3"), []CopyLoss{unshare("hub", "phone")}, 0, -1},
		"no policy, and a copy goes":         {star(""), []CopyLoss{whole("a")}, 0, -1},
		"no policy, and all copies go":       {star(""), []CopyLoss{whole("a"), whole("b"), whole("hub")}, 3, 0},
		"no policy, and nothing was read":    {unread(star("")), []CopyLoss{whole("a")}, 0, -1},
		"no policy, and the only proof goes": {unproven(star("")), []CopyLoss{whole("a")}, 1, 0},
		"no policy, and a share goes":        {unproven(star("")), []CopyLoss{unshare("hub", "a")}, 0, -1},
		"nothing goes":                       {unread(star("f=3")), nil, 0, -1},
	} {
		got, isBad := one.copies.Decline(one.losses...)
		switch {
		case isBad != (one.after >= 0):
			t.Errorf("%s: it is bad: %t, %+v", name, isBad, got)
		case isBad && (got.Before != one.before || got.After != one.after || got.Folder != "f"):
			t.Errorf("%s: got %+v, want %d before and %d after", name, got, one.before, one.after)
		}
	}
}

func TestWhereCopiesCannotBeKnownALossIsBadThatMayTakeOne(t *testing.T) {
	copies := star("f=2")
	copies.Unknown, copies.Data = "nobody knows", nil
	for name, one := range map[string]struct {
		loss  CopyLoss
		isBad bool
	}{
		"a copy": {whole("a"), true}, "a share": {unshare("hub", "a"), true}, "a phone": {unshare("hub", "phone"), false},
		"an encrypted device": {unshare("vault", "a"), false},
	} {
		if got, isBad := copies.Decline(one.loss); isBad != one.isBad || isBad && !strings.Contains(got.Reason(), "nobody") {
			t.Errorf("%s: it is bad: %t, %s", name, isBad, got.Reason())
		}
	}
}

func TestADeclineSaysHowManyCopiesThereAreAndWhenTheyWereRead(t *testing.T) {
	got, _ := star("f=3 within 15m").Decline(whole("a"))
	want := `what hub has of the folder "f" is proven to be on 3 devices, would be on 2, and the policy ` +
		`"folder:f=3 within 15m" asks for 3 (read 1970-01-01 00:00:01 UTC)`
	if text := got.Reason() + got.When(); text != want {
		t.Errorf("got %s\nwant %s", text, want)
	}
}

func TestAnAnswerIsForWhatIsLeft(t *testing.T) {
	shown := CopyDecline{Folder: "f", Before: 3, After: 2}
	more, fewer := shown, shown
	more.Before, fewer.After = 4, 1
	if more.Question() != shown.Question() || fewer.Question() == shown.Question() {
		t.Errorf("got %s, %s and %s", shown.Question(), more.Question(), fewer.Question())
	}
}
