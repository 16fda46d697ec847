package policy

import (
	"context"
	"testing"
	"time"

	"muster/internal/fleet"
)

// memory plays the store. It remembers who deleted what.
type memory struct {
	stored    fleet.StoredSettings
	deletedBy map[fleet.SettingName]string
	loses     bool // What is put is deleted at once.
}

func (m *memory) StoredSettings() fleet.StoredSettings { return m.stored }

func (m *memory) PutSetting(_ context.Context, name fleet.SettingName, value, _ string,
	check func(fleet.StoredSettings) error) error {
	if err := check(m.stored); err != nil {
		return err
	}
	if !m.loses {
		m.stored.ByName[name] = fleet.StoredSetting{Value: value}
	}
	return nil
}

func (m *memory) DeleteSetting(ctx context.Context, name fleet.SettingName, _ func(fleet.StoredSettings) error) error {
	m.deletedBy[name] = fleet.ActorOf(ctx) + fleet.PersonOf(ctx)
	delete(m.stored.ByName, name)
	return nil
}

func newMemory() *memory {
	return &memory{stored: fleet.StoredSettings{ByName: map[fleet.SettingName]fleet.StoredSetting{}},
		deletedBy: map[fleet.SettingName]string{}}
}

func TestAChannelThatIsDeletedMeanwhileIsAnsweredAsSaved(t *testing.T) {
	m := newMemory()
	m.loses = true
	slack, url := fleet.ChannelSlack, fleet.NewSecret("https://hooks.example.org/x")
	is, created, err := NewTelling(m, func(fleet.Channel) error { return nil }).PutChannel(t.Context(), "chat",
		ChannelChange{Type: &slack, URL: &url})
	if err != nil || !created || is.Name != "chat" || is.Type != fleet.ChannelSlack {
		t.Errorf("got %+v, %v, %v", is, created, err)
	}
}

// The audit said that who makes a silence deleted those of others that had ended.
func TestMusterRemovesSilencesThatEnded(t *testing.T) {
	m := newMemory()
	value, err := fleet.Silence{Match: fleet.Match{Tags: []fleet.Tag{"x"}}, Until: time.Now().Add(-time.Hour)}.Stored()
	if err != nil {
		t.Fatal(err)
	}
	ended := fleet.SilenceSetting("ended")
	m.stored.ByName[ended] = fleet.StoredSetting{Value: value, By: "otto"}
	ctx := fleet.WithPerson(fleet.WithActor(t.Context(), "anna"), "anna")
	_, err = NewTelling(m, nil).AddSilence(ctx, fleet.Silence{Match: fleet.Match{Tags: []fleet.Tag{"y"}},
		Until: time.Now().Add(time.Hour)})
	if err != nil || m.deletedBy[ended] != fleet.ActorMuster {
		t.Errorf("deleted by %q, %v", m.deletedBy[ended], err)
	}
	if len(m.stored.ByName) != 1 {
		t.Errorf("stored: %+v", m.stored.ByName)
	}
}
