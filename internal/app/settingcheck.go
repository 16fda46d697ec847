package app

import (
	"context"

	"muster/internal/fleet"
)

// auditTrial is the What of the audit's entry about a value that was tried. The entry is there before the trial.
const auditTrial = "setting.test"

type settingStates = map[fleet.SettingName]fleet.SettingState

// trySetting refuses values of which the files of this machine show that they cannot work. It may take time, so it
// runs before the transaction.
func (a *App) trySetting(name fleet.SettingName, value string) error {
	if value == "" {
		return nil
	}
	switch name {
	case fleet.SettingBackupTo:
		return a.checkBackupLinks(value)
	case fleet.SettingOIDCIssuer:
		_, err := a.newProvider(SignOn{Issuer: value, Roots: a.o.SignOn.Roots})
		return err
	}
	return nil
}

// checkSetting refuses values that this server cannot use. It runs in the transaction and reads no files.
func (a *App) checkSetting(now settingStates, name fleet.SettingName, value string) error {
	switch {
	case name == fleet.SettingBackupTo || name == fleet.SettingBackupEvery:
		return a.checkBackupSetting(now, name, value)
	case name == fleet.SettingCopyPolicies:
		return a.checkCopyPolicies(value)
	case isOfSignOn(name):
		return a.checkSignOnSetting(now, name, value)
	case isOfWebhooks(name) || isOfMail(name):
		return checkNotifySetting(now, name, value)
	}
	return nil
}

// withValue returns a function that answers what each setting is with the value in place of the present one.
func withValue(now settingStates, name fleet.SettingName, value string) func(fleet.SettingName) string {
	return func(of fleet.SettingName) string {
		if of == name {
			return value
		}
		return now[of].Value
	}
}

// lacksSetting is the error about a setting that has no effect before another is set.
func lacksSetting(what string, setting fleet.SettingName) error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: what + " needs the setting " + string(setting),
		Hint: "Set it first."}
}

// keepSecretHere refuses another value of a setting that decides where a stored secret is sent: no answer shows a
// secret, and the server would send it there. The setting can be removed.
func keepSecretHere(now settingStates, name fleet.SettingName, value string, secret fleet.SettingName,
	what string) error {
	kept := now[secret].Stored
	if value == "" || kept == nil || kept.Value == "" {
		return nil
	}
	if was := now[name].Stored; was != nil && was.Value == value {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeInvalid, Message: what,
		Hint: "Type `muster setting reset " + string(secret) + "` first. Set " + string(name) +
			", and then the secret again: `muster setting set " + string(secret) + " --file FILE`."}
}

// TestSetting tries a value of a setting without setting it, and returns for people what was found. nil is the value
// that holds. Trials run one after the other, and each is in the audit.
func (a *App) TestSetting(ctx context.Context, name fleet.SettingName, value *string) (string, error) {
	setting, err := fleet.SettingNamed(string(name))
	if err != nil {
		return "", err
	}
	if !setting.Tests {
		return "", &fleet.Error{Code: fleet.CodeInvalid, Message: string(setting.Name) + " is a setting that is not tried",
			Hint: "Set it without a trial."}
	}
	tried := a.policy.Of(setting.Name).Value
	if value != nil {
		if tried, err = setting.Parse(*value); err != nil {
			return "", err
		}
	}
	select {
	case a.trials <- struct{}{}:
		defer func() { <-a.trials }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	switch setting.Name {
	case fleet.SettingOIDCIssuer:
		return a.tryProvider(ctx, tried)
	case fleet.SettingBackupTo:
		return a.tryFolder(ctx, tried)
	default:
		return a.tryReceivers(ctx, setting.Name, tried)
	}
}
