package app

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"muster/internal/adapter/discovery"
	"muster/internal/engine/notify"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Settings of webhooks, and of mail. Flags or settings decide about each of the two as a whole.
var (
	webhookSettings = []fleet.SettingName{fleet.SettingNotifyURLs, fleet.SettingNotifySecret}
	mailSettings    = []fleet.SettingName{fleet.SettingNotifyMailTo, fleet.SettingNotifyMailFrom,
		fleet.SettingSMTPServer, fleet.SettingSMTPUser, fleet.SettingSMTPPassword, fleet.SettingSMTPTLS}
)

func isOfWebhooks(name fleet.SettingName) bool { return slices.Contains(webhookSettings, name) }
func isOfMail(name fleet.SettingName) bool     { return slices.Contains(mailSettings, name) }

// maxReceivers limits webhooks, and addresses of mail, in settings.
const maxReceivers = 50

// flagsOfNotify returns the settings of notifications that flags give. One flag of mail has all of mail decided by
// flags: else a setting could name another mail server, which would get the password of a flag.
func flagsOfNotify(o notify.Settings) map[fleet.SettingName]string {
	flags := map[fleet.SettingName]string{}
	if len(o.URLs) > 0 || !o.Secret.IsZero() {
		flags[fleet.SettingNotifyURLs] = strings.Join(o.URLs, " ")
		flags[fleet.SettingNotifySecret] = o.Secret.Reveal()
	}
	if len(o.MailTo) > 0 || o.MailFrom+o.SMTP+o.SMTPUser != "" || !o.SMTPPassword.IsZero() {
		flags[fleet.SettingNotifyMailTo], flags[fleet.SettingNotifyMailFrom] = strings.Join(o.MailTo, ","), o.MailFrom
		flags[fleet.SettingSMTPServer], flags[fleet.SettingSMTPUser] = o.SMTP, o.SMTPUser
		flags[fleet.SettingSMTPPassword] = o.SMTPPassword.Reveal()
		flags[fleet.SettingSMTPTLS] = string(cmp.Or(o.SMTPTLS, notify.MailTLSAuto))
	}
	return flags
}

// notifySettings reads who is told of problems.
func notifySettings(of func(fleet.SettingName) string) notify.Settings {
	return notify.Settings{
		URLs: strings.Fields(of(fleet.SettingNotifyURLs)), Secret: fleet.NewSecret(of(fleet.SettingNotifySecret)),
		MailTo: listOfAddresses(of(fleet.SettingNotifyMailTo)), MailFrom: of(fleet.SettingNotifyMailFrom),
		SMTP: of(fleet.SettingSMTPServer), SMTPUser: of(fleet.SettingSMTPUser),
		SMTPPassword: fleet.NewSecret(of(fleet.SettingSMTPPassword)), SMTPTLS: notify.MailTLS(of(fleet.SettingSMTPTLS)),
	}
}

func listOfAddresses(text string) (all []string) {
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// receivers returns who is told of problems. Where settings name receivers that cannot be told, the impairment says so.
func (a *App) receivers() (notify.Settings, *fleet.Impairment) {
	s := a.withFlagsOfMachine(notifySettings(func(name fleet.SettingName) string { return a.policy.Of(name).Value }))
	s.After = a.policy.Of(fleet.SettingNotifyAfter).Duration()
	s.Public = a.o.PublicURL
	telling := a.telling.Now()
	s.Channels, s.Routes, s.Silences = telling.Channels, telling.Routes, telling.Silences
	inDoubt := a.policy.Of(fleet.SettingNotifyURLs).Source == fleet.SettingByGuard ||
		a.policy.Of(fleet.SettingNotifyMailTo).Source == fleet.SettingByGuard || telling.Doubted
	if inDoubt {
		s.Unsure = true
		return s, &fleet.Impairment{Part: fleet.PartNotify,
			Reason: "nobody is told of problems whom the settings name, because the database is in doubt and with it these " +
				"settings",
			Next: "Type `muster audit verify`. Meanwhile start the server with --notify-url or --notify-mail-to."}
	}
	if _, err := ofSettings(s).Senders(refuseLocal); err != nil {
		only := s
		only.URLs, only.Secret, only.MailTo, only.Unsure = a.o.Notify.URLs, a.o.Notify.Secret, a.o.Notify.MailTo, true
		a.dropUseless(&only)
		return only, &fleet.Impairment{Part: fleet.PartNotify,
			Reason: "nobody is told of problems whom the settings name: " + fleet.Reason(err),
			Next:   "`muster setting list` shows the settings; correct the one that is wrong."}
	}
	return s, a.dropUseless(&s)
}

// withFlagsOfMachine allows receivers on this machine where flags name them or allow them.
func (a *App) withFlagsOfMachine(s notify.Settings) notify.Settings {
	byFlag := func(name fleet.SettingName) bool { return a.policy.Of(name).Source == fleet.SettingByFlag }
	s.LocalWebhooks = a.o.NotifyAllowLocal || byFlag(fleet.SettingNotifyURLs)
	s.LocalMail = a.o.NotifyAllowLocal || byFlag(fleet.SettingSMTPServer)
	s.LocalChannels = a.o.NotifyAllowLocal
	return s
}

// refuseLocal tells why the receivers of settings are not at an address: with a stolen token of an administrator
// nobody has the server talk to its own machine.
func refuseLocal(ip netip.Addr) string { return discovery.RefuseIP(ip, false) }

// tellReceivers has the notifier tell those whom the settings name now.
func (a *App) tellReceivers() {
	s, _ := a.receivers()
	if err := a.notifier.SetReceivers(s, refuseLocal); err != nil {
		a.log.Error("the receivers of notifications stay as they were", logkey.Err(err))
	}
}

// checkNotifySetting refuses receivers that nothing could be sent to.
func checkNotifySetting(now settingStates, name fleet.SettingName, value string) error {
	weakens := name == fleet.SettingSMTPTLS && value == string(notify.MailTLSNone)
	if name == fleet.SettingSMTPServer || weakens {
		if err := keepSecretHere(now, name, value, fleet.SettingSMTPPassword,
			"a password is stored, which the server would send to another mail server, or less protected"); err != nil {
			return err
		}
	}
	s := notifySettings(withValue(now, name, value))
	if len(s.URLs) > maxReceivers || len(s.MailTo) > maxReceivers {
		return fleet.Invalidf("value", "%s has more than %d receivers", name, maxReceivers)
	}
	if isOfWebhooks(name) {
		s.MailTo = nil
		if len(s.URLs) == 0 { // The secret alone is checked.
			s.URLs = []string{"https://example.org"}
		}
	} else if s.URLs = nil; len(s.MailTo) > 0 {
		switch {
		case s.SMTP == "":
			return lacksSetting("mail", fleet.SettingSMTPServer)
		case s.MailFrom == "":
			return lacksSetting("mail", fleet.SettingNotifyMailFrom)
		}
	} else { // Nobody gets mail yet, so each setting is checked alone.
		s.MailTo = []string{"admin@example.org"}
		s.MailFrom = cmp.Or(s.MailFrom, "muster@example.org")
		s.SMTP = cmp.Or(s.SMTP, "mail.example.org")
	}
	_, err := s.Senders(refuseLocal)
	return err
}

// tryReceivers sends a message of trial to each receiver of a setting.
func (a *App) tryReceivers(ctx context.Context, name fleet.SettingName, value string) (string, error) {
	s := notifySettings(func(of fleet.SettingName) string {
		if of == name {
			return value
		}
		return a.policy.Of(of).Value
	})
	s = a.withFlagsOfMachine(s)
	if now := a.policy.Of(name); now.Source == fleet.SettingByFlag && value != now.Value {
		return "", &fleet.Error{Code: fleet.CodeInvalid, Message: "the server was started with --" + now.Flag +
			", so only the receivers of that flag are tried", Hint: "Leave the value out."}
	}
	if isOfWebhooks(name) {
		s.MailTo = nil
	} else {
		s.URLs = nil
	}
	senders, err := s.Senders(refuseLocal)
	if err != nil {
		return "", err
	}
	if len(senders) == 0 {
		return "", &fleet.Error{Code: fleet.CodeInvalid, Message: "there is no receiver to try", Hint: "Name one."}
	}
	if len(senders) > maxReceivers {
		return "", fleet.Invalidf("value", "a trial has at most %d receivers", maxReceivers)
	}
	names := namesOf(senders)
	if err := a.store.Record(ctx, auditTrial, string(name), names); err != nil {
		return "", err
	}
	if err := notify.Try(ctx, senders); err != nil {
		return "", err
	}
	return fmt.Sprintf("A message of trial was accepted by %s.", names), nil
}

func namesOf(senders []notify.Sender) string {
	var names []string
	for _, sender := range senders {
		names = append(names, sender.Name())
	}
	return strings.Join(names, ", ")
}
