package store

import (
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestTaggingGivesTheSortedSet(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d, v := put(t, s, deviceN(1)), create(t, s, "one")
		odd := []fleet.Tag{"b/c d%+", "ä", "B", "a", "a ", fleet.Tag(strings.Repeat("x", fleet.MaxTagBytes))}
		var onDevice, onTemplate []fleet.Tag
		for range 2 {
			for _, tag := range odd {
				onDevice = must(s.TagDevice(t.Context(), d.ID, tag, nil))(t)
				onTemplate = must(s.TagTemplate(t.Context(), v.ID, tag, nil))(t)
			}
		}
		want := slices.Sorted(slices.Values(odd))
		for name, got := range map[string][]fleet.Tag{
			"device": onDevice, "template": onTemplate, "read device": must(s.DeviceTags(t.Context(), d.ID))(t),
			"read template": must(s.TemplateTags(t.Context(), v.ID))(t), "all": must(s.Tags(t.Context()))(t),
		} {
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		for _, tag := range odd {
			onDevice = must(s.UntagDevice(t.Context(), d.ID, tag, nil))(t)
			onTemplate = must(s.UntagTemplate(t.Context(), v.ID, tag, nil))(t)
		}
		if onDevice == nil || onTemplate == nil || len(onDevice)+len(onTemplate) != 0 {
			t.Errorf("got %v and %v, want empty sets", onDevice, onTemplate)
		}
		if got := must(s.Tags(t.Context()))(t); len(got) != 0 {
			t.Errorf("got %q, want no tags", got)
		}
		_, err := s.TagDevice(t.Context(), deviceN(2).ID, "x", nil)
		wantCode(t, err, fleet.CodeNotFound)
		_, err = s.DeviceTags(t.Context(), deviceN(2).ID)
		wantCode(t, err, fleet.CodeNotFound)
		_, err = s.TagDevice(t.Context(), d.ID, "a\nb", nil)
		wantCode(t, err, fleet.CodeInvalid)
	})
}

func TestDeleteTagTakesItOffEverything(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d, e, v := put(t, s, deviceN(1)), put(t, s, deviceN(2)), create(t, s, "one")
		must(s.TagDevice(t.Context(), d.ID, "x", nil))(t)
		must(s.TagDevice(t.Context(), e.ID, "x", nil))(t)
		must(s.TagDevice(t.Context(), e.ID, "stays", nil))(t)
		must(s.TagTemplate(t.Context(), v.ID, "x", nil))(t)
		if err := stored(s, s.PutTagMode(t.Context(), "x", fleet.ModeObserve)); err != nil {
			t.Fatal(err)
		}
		if left := must(s.DeleteTag(t.Context(), "x", nil))(t); !slices.Equal(left, []fleet.Tag{"stays"}) {
			t.Errorf("got %q", left)
		}
		_, err := s.DeleteTag(t.Context(), "x", nil)
		wantCode(t, err, fleet.CodeNotFound)
		if got := must(s.DevicesTagged(t.Context(), "x"))(t); len(got) != 0 {
			t.Errorf("got %v", got)
		}
		if got := must(s.TemplatesTagged(t.Context(), "x"))(t); len(got) != 0 {
			t.Errorf("got %v", got)
		}
		if mode := must(s.TagMode(t.Context(), "x"))(t); mode != fleet.ModeObserve {
			t.Errorf("got mode %s", mode)
		}
		if left := must(s.DeleteTag(t.Context(), "stays", nil))(t); left == nil || len(left) != 0 {
			t.Errorf("got %v, want an empty list", left)
		}
	})
}

func TestModesAreKept(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := must(Open(t.Context(), options))(t)
		d := put(t, s, deviceN(1))
		must(s.TagDevice(t.Context(), d.ID, "x", nil))(t)
		registry := func() *fleet.Registry { return must(s.Registry(t.Context()))(t) }
		if got := registry().ModeOf(d.ID); got != fleet.ModeOn {
			t.Errorf("got %s at first", got)
		}
		if err := stored(s, s.PutTagMode(t.Context(), "x", fleet.ModePaused)); err != nil {
			t.Fatal(err)
		}
		if err := stored(s, s.PutFleetMode(t.Context(), fleet.ModeObserve)); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, options)
		if got := registry(); got.Mode != fleet.ModeObserve || got.ModeOf(d.ID) != fleet.ModePaused {
			t.Errorf("got %s, %s after a restart", got.Mode, got.ModeOf(d.ID))
		}
		if err := stored(s, s.PutTagMode(t.Context(), "x", fleet.ModeOn)); err != nil {
			t.Fatal(err)
		}
		if got := registry().ModeOf(d.ID); got != fleet.ModeObserve {
			t.Errorf("got %s", got)
		}
		wantCode(t, s.PutFleetMode(t.Context(), "off"), fleet.CodeInvalid)
		wantCode(t, s.PutTagMode(t.Context(), "", fleet.ModeOn), fleet.CodeInvalid)
		_, err := s.PutDeviceSettings(t.Context(), d.ID, fleet.DeviceSettings{}, nil)
		wantCode(t, err, fleet.CodeInvalid)
		_, err = s.PutDeviceSettings(t.Context(), deviceN(2).ID, fleet.DeviceSettings{Mode: fleet.ModeOn}, nil)
		wantCode(t, err, fleet.CodeNotFound)
	})
}

// A device that was deleted and registered again has none of its old tags, in the generations of before neither, also
// where these are read from the database after a start.
func TestADeviceThatIsRegisteredAnewHasNoTagsOfBefore(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := must(Open(t.Context(), options))(t)
		d := put(t, s, deviceN(1))
		must(s.TagDevice(t.Context(), d.ID, "old", nil))(t)
		if err := s.DeleteDevice(t.Context(), d.ID, nil); err != nil {
			t.Fatal(err)
		}
		put(t, s, deviceN(1))
		must(s.TagDevice(t.Context(), d.ID, "new", nil))(t)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, options)
		newest := must(s.Registry(t.Context()))(t).Generation
		for generation := range newest + 1 {
			tags := must(s.RegistryAt(t.Context(), generation))(t).Devices[d.ID].Tags
			if want := generation == newest; len(tags) > 0 != want || slices.Contains(tags, "old") {
				t.Errorf("in generation %d of %d it has the tags %q", generation, newest, tags)
			}
		}
	})
}
