package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// StoredSettings returns the settings of the server that administrators changed, as of the last commit. Callers share
// the value and must not change it.
func (s *Store) StoredSettings() (stored fleet.StoredSettings) {
	s.model.look(func(c *contents) { stored = c.settings })
	return stored
}

// PutSetting stores the value of a setting, in its canonical form. shown is what the audit has of it. If check is not
// nil, it gets the settings that are there, and an error from it refuses the change.
func (s *Store) PutSetting(ctx context.Context, name fleet.SettingName, value, shown string,
	check func(now fleet.StoredSettings) error) error {
	_, err := write(ctx, s, "put setting", func(t *tx) (none struct{}, err error) {
		is := fleet.StoredSetting{Value: value, By: t.who, At: t.now.Truncate(time.Millisecond)}
		if _, err := t.settingBefore(name, check); err != nil {
			return none, err
		}
		what, subject := name.Act("put")
		t.record(what, subject, shown)
		t.changeSettings(func(all map[fleet.SettingName]fleet.StoredSetting) { all[name] = is })
		return none, t.marking(settingRows, func() error { return t.storeSetting(name, is) }, string(name))
	})
	return err
}

// storeSetting writes the row of a setting. The caller gives it a mark.
func (t *tx) storeSetting(name fleet.SettingName, is fleet.StoredSetting) error {
	return t.exec(`INSERT INTO settings (name, value, set_by, set_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value, set_by = excluded.set_by, set_at = excluded.set_at`,
		string(name), t.store.seal.Seal("settings", string(name), "value", []byte(is.Value)), is.By, millis(is.At))
}

// storeGuards stores the guarded value of each setting that has one. AcceptLoss calls it and gives the rows their
// marks: a row in doubt may be an older value, or have had the name of another setting.
func (t *tx) storeGuards() error {
	for _, setting := range guardedSettings() {
		is := fleet.StoredSetting{Value: setting.Guarded, By: t.who, At: t.now.Truncate(time.Millisecond)}
		if err := t.storeSetting(setting.Name, is); err != nil {
			return err
		}
	}
	return nil
}

func guardedSettings() []fleet.Setting {
	return slices.DeleteFunc(fleet.Settings(), func(setting fleet.Setting) bool { return setting.Guarded == "" })
}

// storesGuards tells people what storeGuards does, and how the values become others again.
func storesGuards() string {
	var stored []string
	for _, setting := range guardedSettings() {
		stored = append(stored, string(setting.Name)+" "+setting.Guarded)
	}
	return "strict values are stored from here on: " + strings.Join(stored, ", ") +
		". Set each again with `muster setting set NAME VALUE`, after a start of the server with --four-eyes=false: " +
		"four eyes let no administrator alone loosen them"
}

// DeleteSetting removes the stored value of a setting, so that its default holds. It does nothing if nothing is stored.
func (s *Store) DeleteSetting(ctx context.Context, name fleet.SettingName,
	check func(now fleet.StoredSettings) error) error {
	_, err := write(ctx, s, "reset setting", func(t *tx) (none struct{}, err error) {
		was, err := t.settingBefore(name, check)
		if err != nil || was == nil {
			return none, err
		}
		what, subject := name.Act("reset")
		t.record(what, subject, "")
		t.changeSettings(func(all map[fleet.SettingName]fleet.StoredSetting) { delete(all, name) })
		return none, t.marking(settingRows, func() error {
			return t.exec(`DELETE FROM settings WHERE name = $1`, string(name))
		}, string(name))
	})
	return err
}

// settingBefore returns the stored value of a setting, or nil, after check has accepted the change. Both go by the
// settings in memory, with the changes that earlier writes of the batch make: a row that was forged since the last
// comparison decides nothing.
func (t *tx) settingBefore(name fleet.SettingName, check func(fleet.StoredSettings) error) (*fleet.StoredSetting,
	error) {
	stored := withChanges(t.store.StoredSettings(), t.pending.settings...)
	if check != nil {
		if err := check(stored); err != nil {
			return nil, err
		}
	}
	if was, there := stored.ByName[name]; there {
		return &was, nil
	}
	return nil, nil //nolint:nilnil // nothing is stored
}

// settingChange changes the stored settings in a map that nobody else uses.
type settingChange func(map[fleet.SettingName]fleet.StoredSetting)

// changeSettings makes a change of the settings in memory after the commit. Later writes of the batch are checked
// against it.
func (t *tx) changeSettings(change settingChange) {
	t.effects.committed.Merge(fleet.Committed{Settings: true})
	t.effects.settings = append(t.effects.settings, change)
	t.register(func(c *contents) { c.settings = withChanges(c.settings, change) })
}

func withChanges(stored fleet.StoredSettings, by ...settingChange) fleet.StoredSettings {
	all := map[fleet.SettingName]fleet.StoredSetting{}
	maps.Copy(all, stored.ByName)
	for _, change := range by {
		change(all)
	}
	stored.ByName = all
	return stored
}

// loadServerSettings reads the stored settings. A value that does not open puts all in doubt.
func (s *Store) loadServerSettings(ctx context.Context, q querier, c *contents) error {
	c.settings = fleet.StoredSettings{ByName: map[fleet.SettingName]fleet.StoredSetting{}}
	return eachRow(ctx, q, func(row scanner) error {
		var name string
		var sealed []byte
		var is fleet.StoredSetting
		var at int64
		if err := row.Scan(&name, &sealed, &is.By, &at); err != nil {
			return err
		}
		value, err := s.seal.Open("settings", name, "value", sealed)
		if err != nil {
			c.settings.Doubted = true
		}
		is.Value, is.At = string(value), timeOf(at)
		c.settings.ByName[fleet.SettingName(name)] = is
		return nil
	}, `SELECT name, value, set_by, set_at FROM settings`)
}

// doubtSetting has the guarded values of all settings hold: the row in doubt may have had another name.
func doubtSetting(c *contents, _ []string) { c.settings.Doubted = true }
