package fleet

// The settings of the server. A new one needs a constant, a line of settingTable and a reader: the engine that it is
// for gets it from package app, which asks the policy for it each time (see policy.Policy).
const (
	SettingApproval         SettingName = "approvalThreshold"
	SettingFourEyes         SettingName = "fourEyes"
	SettingWavePlan         SettingName = "waves"
	SettingSoak             SettingName = "soak"
	SettingProgressDeadline SettingName = "progressDeadline"
	SettingTroubleAfter     SettingName = "troubleAfter"
	SettingStalledAfter     SettingName = "stalledAfter"
	SettingDisagreeAfter    SettingName = "disagreeAfter"
	SettingTroubleOff       SettingName = "troubleOff"
	SettingQuietAfter       SettingName = "quietAfter"
	SettingCopyPolicies     SettingName = "copyPolicies"
	SettingStaleAfter       SettingName = "staleAfter"
	SettingNotifyAfter      SettingName = "notifyAfter"
	SettingNotifyURLs       SettingName = "notifyURLs"
	SettingNotifySecret     SettingName = "notifySecret"
	SettingNotifyMailTo     SettingName = "notifyMailTo"
	SettingNotifyMailFrom   SettingName = "notifyMailFrom"
	SettingSMTPServer       SettingName = "smtpServer"
	SettingSMTPUser         SettingName = "smtpUser"
	SettingSMTPPassword     SettingName = "smtpPassword"
	SettingSMTPTLS          SettingName = "smtpTLS"
	SettingEnrollByKey      SettingName = "enrollByKey"
	SettingEnrollKeyLife    SettingName = "enrollKeyLife"
	SettingEnrollKeyUses    SettingName = "enrollKeyUses"
	SettingEnrollKeyTags    SettingName = "enrollKeyTags"
	SettingKeepRevisions    SettingName = "keepRevisions"
	SettingKeepFor          SettingName = "keepFor"
	SettingKeepEvents       SettingName = "keepEvents"
	SettingKeepAudit        SettingName = "keepAudit"
	SettingSessionIdle      SettingName = "sessionIdle"
	SettingSessionLife      SettingName = "sessionLife"
	SettingBackupEvery      SettingName = "backupEvery"
	SettingBackupTo         SettingName = "backupTo"
	SettingBackupKeep       SettingName = "backupKeep"
	SettingOIDCIssuer       SettingName = "oidcIssuer"
	SettingOIDCClientID     SettingName = "oidcClientID"
	SettingOIDCClientSecret SettingName = "oidcClientSecret"
	SettingOIDCRoles        SettingName = "oidcRoles"
	SettingOIDCGroupsClaim  SettingName = "oidcGroupsClaim"
	SettingOIDCNameClaim    SettingName = "oidcNameClaim"
	SettingOIDCScopes       SettingName = "oidcScopes"
	SettingOIDCName         SettingName = "oidcName"
)

const (
	groupRollouts = "Rollouts"
	groupTrouble  = "Trouble"
	groupNotices  = "Who is told of problems"
	groupEnroll   = "Devices that register themselves"
	groupKept     = "What is kept"
	groupSessions = "Sessions"
	groupBackups  = "Backups"
	groupProvider = "Log-in by a provider"
)

var settingTable = []Setting{
	{Name: SettingApproval, Group: groupRollouts, Kind: SettingThreshold, Default: NoThreshold, Guarded: "1",
		Flag: "approval-threshold",
		Help: "Rollouts over more devices than this, N or N%, wait for an admin's approval."},
	{Name: SettingFourEyes, Group: groupRollouts, Kind: SettingSwitch, Default: "false", Guarded: "true",
		Flag: "four-eyes",
		Help: "A rollout is approved by another person than made the change; waves and soak time need no second person."},
	{Name: SettingWavePlan, Group: groupRollouts, Kind: SettingWaves, Default: "1,10%,rest", Flag: "waves",
		Help: "Waves of rollouts: numbers of devices, shares of their devices, and the rest at the end."},
	{Name: SettingSoak, Group: groupRollouts, Kind: SettingDuration, Default: "30s", Least: "1ms", Most: "168h",
		Flag: "soak",
		Help: "How long each wave of a rollout is watched before the next; simulated daemons need less than the default."},
	{Name: SettingProgressDeadline, Group: groupRollouts, Kind: SettingDuration, Default: "1m", Least: "1s", Most: "24h",
		Help: "How long the devices of a wave may make no progress before the rollout halts."},

	{Name: SettingTroubleAfter, Group: groupTrouble, Kind: SettingDuration, Default: "10m", Least: "1ms", Most: "720h",
		Flag: "trouble-after",
		Help: "How long a folder is stopped, stalled or alone, or a device away, before that is trouble."},
	{Name: SettingStalledAfter, Group: groupTrouble, Kind: SettingDuration, Default: "10m", Least: "1ms", Most: "720h",
		Flag: "stalled-after",
		Help: "How long nothing of a folder moves that a connected device has, before it is stalled."},
	{Name: SettingDisagreeAfter, Group: groupTrouble, Kind: SettingDuration, Default: "5m", Least: "1ms", Most: "720h",
		Flag: "disagree-after",
		Help: "How long devices count different files in a folder and nothing moves, before they disagree."},
	{Name: SettingTroubleOff, Group: groupTrouble, Kind: SettingChoices, Flag: "trouble-off", Choices: troubleKinds,
		Help: "Kinds of trouble of which nobody is told."},
	{Name: SettingQuietAfter, Group: groupTrouble, Kind: SettingDuration, Default: zeroDuration,
		Zero: "as troubleAfter", Least: "1s", FlagLeast: "1ms", Most: "8760h", Flag: "quiet-after",
		Help: "How long a device may be away before that is trouble, where neither it nor one of its tags has a time."},
	{Name: SettingStaleAfter, Group: groupTrouble, Kind: SettingStale,
		Help: "How long a device may not be seen before it is listed as stale: laptop=90d; *=365d."},
	{Name: SettingCopyPolicies, Group: groupTrouble, Kind: SettingCopies,
		Help: "On how many devices the data of folders has to be proven to be, before that is trouble: photos=2 within 15m."},

	// Webhooks are given by flags or by settings, as a whole, and so is mail. Package app reads them.
	{Name: SettingNotifyAfter, Group: groupNotices, Kind: SettingDuration, Default: "10m", Least: "1s",
		FlagLeast: "1ms", Most: "720h", Flag: "notify-after",
		Help: "How long a problem lasts before anybody is told of it."},
	{Name: SettingNotifyURLs, Group: groupNotices, Kind: SettingSecret, Several: true, Flag: "notify-url", Tests: true,
		Help: "URLs of webhooks that are told by HTTP POST, with spaces between; they are kept sealed and never shown."},
	{Name: SettingNotifySecret, Group: groupNotices, Kind: SettingSecret, Flag: "notify-secret",
		Help: "What signs the messages to webhooks: a text, or whsec_ and base64; it is kept sealed and never shown."},
	{Name: SettingNotifyMailTo, Group: groupNotices, Kind: SettingText, Flag: "notify-mail-to", Tests: true,
		Help: "Mail addresses that are told, with commas between."},
	{Name: SettingNotifyMailFrom, Group: groupNotices, Kind: SettingText, Flag: "notify-mail-from",
		Help: "Address that the mail comes from."},
	{Name: SettingSMTPServer, Group: groupNotices, Kind: SettingText, Flag: "smtp",
		Help: "Mail server, HOST or HOST:PORT; the port is 587 unless given."},
	{Name: SettingSMTPUser, Group: groupNotices, Kind: SettingText, Flag: "smtp-user",
		Help: "User to log in as at the mail server."},
	{Name: SettingSMTPPassword, Group: groupNotices, Kind: SettingSecret, Flag: "smtp-password",
		Help: "Password of that user; it is kept sealed and never shown."},
	{Name: SettingSMTPTLS, Group: groupNotices, Kind: SettingChoice, Default: "auto", Flag: "smtp-tls",
		Choices: []string{"auto", "starttls", "tls", "none"},
		Help:    "How mail is encrypted: auto is TLS on port 465 and STARTTLS on any other; none is in clear text."},

	{Name: SettingEnrollByKey, Group: groupEnroll, Kind: SettingSwitch, Default: "true", Guarded: "false",
		Flag: "enroll-by-key",
		Help: "Whether devices with an enrol key register themselves; else each waits until an admin accepts it."},
	{Name: SettingEnrollKeyLife, Group: groupEnroll, Kind: SettingDuration, Default: "8784h", Guarded: "24h",
		Least: "1m", Most: "8784h", Flag: "enroll-key-life",
		Help: "How long after it was made an enrol key registers devices at most, also one that was made before."},
	{Name: SettingEnrollKeyUses, Group: groupEnroll, Kind: SettingNumber, Default: "100000", Guarded: "1", Least: "1",
		Most: "100000", Flag: "enroll-key-uses",
		Help: "How many devices one enrol key registers at most, also one that was made before."},
	{Name: SettingEnrollKeyTags, Group: groupEnroll, Kind: SettingTags, Empty: "any", Flag: "enroll-key-tags",
		Help: "Tags that enrol keys may give; a key with another tag registers no device."},

	{Name: SettingKeepRevisions, Group: groupKept, Kind: SettingNumber, Default: "100", Guarded: "100000",
		Least: "10", FlagLeast: "1", Most: "100000", Flag: "keep-revisions",
		Deletes: "configurations beyond this number at once, but for those of the last week",
		Help:    "Configurations kept of each device; unless a flag decides, up to 1000 of the last week stay as well."},
	{Name: SettingKeepFor, Group: groupKept, Kind: SettingDuration, Default: "8760h", Guarded: "876000h",
		Least: "168h", FlagLeast: "1ms", Most: "876000h", Flag: "keep-for", Deletes: "older configurations at once",
		Help: "How long a configuration is kept after another took its place."},
	{Name: SettingKeepEvents, Group: groupKept, Kind: SettingDuration, Default: "168h", Guarded: "876000h",
		Least: "24h", FlagLeast: "1ms", Most: "876000h", Flag: "keep-events", Deletes: "older events within an hour",
		Help: "How long it is kept what happened: changes of state and configuration, and orders."},
	{Name: SettingKeepAudit, Group: groupKept, Kind: SettingDuration, Default: zeroDuration, Zero: "for ever",
		Least: "2160h", FlagLeast: "24h", Most: "876000h", Flag: "keep-audit", Deletes: "older entries at once",
		Help: "How long entries of the audit are kept; 0 for ever."},

	{Name: SettingSessionIdle, Group: groupSessions, Kind: SettingDuration, Default: "24h", Guarded: "1h", Least: "1m",
		Most: "8760h", Flag: "session-idle", Help: "A session that is not used for so long ends."},
	{Name: SettingSessionLife, Group: groupSessions, Kind: SettingDuration, Default: "168h", Guarded: "24h", Least: "1m",
		Most: "8760h", Flag: "session-life", Help: "A session that begins now ends so long after its log-in."},

	{Name: SettingBackupEvery, Group: groupBackups, Kind: SettingDuration, Default: zeroDuration, Zero: "never",
		Least: "10m", FlagLeast: "1ms", Most: "8760h", Flag: "backup-every",
		Help: "How often the server makes a backup by itself, in the folder of backupTo."},
	{Name: SettingBackupTo, Group: groupBackups, Kind: SettingFolder, Flag: "backup-to", Tests: true,
		Help: "Folder on the server's machine for these backups, below the home's folder backups or a --backup-root."},
	{Name: SettingBackupKeep, Group: groupBackups, Kind: SettingNumber, Default: "7", Guarded: "1000", Least: "2",
		FlagLeast: "1", Most: "1000", Flag: "backup-keep", Deletes: "older backups, beyond 14 days, with the next one",
		Help: "How many of these backups are kept, the newest; unless flags decide, those of the last 14 days stay too."},

	// A provider is given by flags or by settings, as a whole. Package app reads them when the server starts.
	{Name: SettingOIDCIssuer, Group: groupProvider, Kind: SettingText, Flag: "oidc-issuer", Restart: true, Tests: true,
		Help: "Provider that people log in with (OpenID Connect): its issuer, exactly as the provider writes it."},
	{Name: SettingOIDCClientID, Group: groupProvider, Kind: SettingText, Flag: "oidc-client-id", Restart: true,
		Help: "What Muster is called at the provider."},
	{Name: SettingOIDCClientSecret, Group: groupProvider, Kind: SettingSecret, Flag: "oidc-client-secret",
		Restart: true, Help: "Muster's secret at the provider; it is kept sealed and never shown."},
	{Name: SettingOIDCRoles, Group: groupProvider, Kind: SettingText, Flag: "oidc-role", Restart: true,
		Help: "Roles by groups of the provider: ROLE=GROUP, or ROLE:TAG,TAG=GROUP, with ; between; others get no access."},
	{Name: SettingOIDCGroupsClaim, Group: groupProvider, Kind: SettingText, Default: "groups",
		Flag: "oidc-groups-claim", Restart: true, Help: "Claim that holds the groups of a person."},
	{Name: SettingOIDCNameClaim, Group: groupProvider, Kind: SettingText, Default: "preferred_username",
		Flag: "oidc-name-claim", Restart: true, Help: "Claim that a new user gets the name from."},
	{Name: SettingOIDCScopes, Group: groupProvider, Kind: SettingText, Default: "profile,email", Flag: "oidc-scope",
		Restart: true, Help: "What Muster asks the provider for besides openid, with commas between."},
	{Name: SettingOIDCName, Group: groupProvider, Kind: SettingText, Flag: "oidc-name", Restart: true,
		Help: "What the log-in page calls the provider; without it, its host."},
}
