// Package policy knows which value of each of the server's settings holds, and changes the stored ones: a flag of
// `muster serve` comes before the database, and that before the default. Engines do not see it. Each declares what it
// asks for, and package app answers from here.
package policy

import (
	"context"

	"muster/internal/fleet"
)

// Store stores settings. A change is visible in StoredSettings when the call returns.
type Store interface {
	StoredSettings() fleet.StoredSettings
	PutSetting(ctx context.Context, name fleet.SettingName, value, shown string,
		check func(now fleet.StoredSettings) error) error
	DeleteSetting(ctx context.Context, name fleet.SettingName, check func(now fleet.StoredSettings) error) error
}

// Options make a Policy.
type Options struct {
	Store Store
	Flags map[fleet.SettingName]string // canonical values of the flags that were given
	// Try refuses a value of which the machine shows that it cannot work. It runs before the transaction, since it may
	// take time. nil: nothing is tried.
	Try func(name fleet.SettingName, value string) error
	// Check refuses a value that this server cannot use. now has all settings as they are. nil: none is refused.
	Check func(now map[fleet.SettingName]fleet.SettingState, name fleet.SettingName, value string) error
	// Defaults replace defaults of the table, because the server manages simulated daemons.
	Defaults map[fleet.SettingName]string
}

// Policy is the settings of one server.
type Policy struct{ o Options }

// New makes a Policy.
func New(o Options) *Policy { return &Policy{o} }

// ParseFlags checks the values of flags, and returns them in canonical form. An empty text is a flag that was not
// given.
func ParseFlags(given map[fleet.SettingName]string) (map[fleet.SettingName]string, error) {
	flags := map[fleet.SettingName]string{}
	for _, setting := range fleet.Settings() { // The order is fixed, and so is the error that comes first.
		text, there := given[setting.Name]
		if !there || text == "" {
			continue
		}
		value, err := setting.ParseFlag(text)
		if err != nil {
			return nil, err
		}
		flags[setting.Name] = value
	}
	return flags, nil
}

// States returns all settings with the values that hold.
func (p *Policy) States() []fleet.SettingState {
	stored := p.o.Store.StoredSettings()
	var all []fleet.SettingState
	for _, setting := range fleet.Settings() {
		all = append(all, p.inForce(setting, stored).Masked())
	}
	return all
}

// State returns one setting with the value that holds, without secrets.
func (p *Policy) State(name fleet.SettingName) (fleet.SettingState, error) {
	setting, err := fleet.SettingNamed(string(name))
	return p.Of(setting.Name).Masked(), err
}

// Of returns a setting that is known to exist, with the value that holds, also of a secret.
func (p *Policy) Of(name fleet.SettingName) fleet.SettingState {
	setting, _ := fleet.SettingNamed(string(name))
	return p.inForce(setting, p.o.Store.StoredSettings())
}

func (p *Policy) inForce(setting fleet.Setting, stored fleet.StoredSettings) fleet.SettingState {
	if other, there := p.o.Defaults[setting.Name]; there {
		setting.Default = other
	}
	return setting.InForce(p.o.Flags, stored)
}

// Put stores a value. check gets the setting as it is in the same transaction, and an error from it refuses the change.
func (p *Policy) Put(ctx context.Context, name fleet.SettingName, text string,
	check func(*fleet.SettingState) error) (fleet.SettingState, error) {
	setting, err := fleet.SettingNamed(string(name))
	if err != nil {
		return fleet.SettingState{}, err
	}
	value, err := setting.Parse(text)
	if err == nil && p.o.Try != nil {
		err = p.o.Try(setting.Name, value)
	}
	if err == nil {
		err = p.o.Store.PutSetting(ctx, setting.Name, value, setting.Shown(value), p.checking(setting, value, check))
	}
	return p.Of(setting.Name).Masked(), err
}

// Reset removes the stored value, so that the default holds.
func (p *Policy) Reset(ctx context.Context, name fleet.SettingName,
	check func(*fleet.SettingState) error) (fleet.SettingState, error) {
	setting, err := fleet.SettingNamed(string(name))
	if err != nil {
		return fleet.SettingState{}, err
	}
	err = p.o.Store.DeleteSetting(ctx, setting.Name, p.checking(setting, setting.Default, check))
	return p.Of(setting.Name).Masked(), err
}

// checking returns what judges a change in its transaction: the caller's condition first, then four eyes.
func (p *Policy) checking(setting fleet.Setting, value string, check func(*fleet.SettingState) error,
) func(fleet.StoredSettings) error {
	return func(stored fleet.StoredSettings) error {
		now := map[fleet.SettingName]fleet.SettingState{}
		for _, one := range fleet.Settings() {
			now[one.Name] = p.inForce(one, stored)
		}
		if state := now[setting.Name].Masked(); check != nil {
			if err := check(&state); err != nil {
				return err
			}
		}
		if err := fleet.CheckFourEyes(now, setting.Name, value); err != nil || p.o.Check == nil {
			return err
		}
		return p.o.Check(now, setting.Name, value)
	}
}
