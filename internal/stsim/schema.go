package stsim

import "muster/internal/core/stconfig"

// schema is the configuration of one version: its fields, their types and defaults. v1.19.2's was read from a running
// daemon (and test/contract compares the two), v2's from Syncthing's lib/config and the facts found on 2.1.3.
type schema struct {
	version                int64 // of the configuration
	config, folder, device *shape
	folderPath             string // of defaults.folder, where nothing says otherwise
	keepsHashes            bool   // a bcrypt hash sent as the password is taken as it is
	unsharesUntrusted      bool   // a folder is not shared in clear with a device marked untrusted
	migratesFolderPath     bool   // an old document loses defaults.folder.path
}

var (
	schemaV1 = newSchema(V1)
	schemaV2 = newSchema(V2)
)

func (v Version) schema() *schema {
	if v == V1 {
		return schemaV1
	}
	return schemaV2
}

func newSchema(v Version) *schema {
	s := &schema{}
	if v == V1 {
		*s = schema{version: 36, folderPath: "~", migratesFolderPath: true}
	} else {
		*s = schema{version: 52, keepsHashes: true, unsharesUntrusted: true}
	}
	s.folder, s.device = folderShape(v, s), deviceShape(v)
	s.config = structOf(
		plain("version", anInteger),
		plain("folders", listOf(s.folder)),
		plain("devices", listOf(s.device)),
		plain("gui", guiShape(v)),
		plain("ldap", ldapShape()),
		plain("options", optionsShape(v)),
		plain("remoteIgnoredDevices", listOf(structOf(
			plain("time", anInstant), plain("deviceID", aDeviceID), plain("name", aText), plain("address", aText)))),
		plain("defaults", structOf(
			plain("folder", s.folder), plain("device", s.device), plain("ignores", structOf(plain("lines", texts))))),
	)
	return s
}

func plain(name string, s *shape) field { return field{name: name, shape: s} }

func flag(name string, preset bool) field {
	return field{name: name, shape: aBoolean, preset: stconfig.Boolean(preset)}
}

func count(name string, preset int64) field {
	return field{name: name, shape: anInteger, preset: number(preset)}
}

func decimal(name string, preset int64) field {
	return field{name: name, shape: aFloat, preset: number(preset)}
}

func word(name, preset string) field {
	return field{name: name, shape: aText, preset: stconfig.Text(preset)}
}

func size(name string, percent int64) field {
	return field{
		name:  name,
		shape: structOf(plain("value", aFloat), plain("unit", aText)),
		preset: stconfig.Obj(stconfig.Member{Name: "value", Value: number(percent)},
			stconfig.Member{Name: "unit", Value: stconfig.Text("%")}),
	}
}

func needsRestart(f field) field {
	f.restart = true
	return f
}

// only keeps the fields that the version has.
type only []field

func (o *only) add(fields ...field) { *o = append(*o, fields...) }

func (o *only) in(has bool, fields ...field) {
	if has {
		*o = append(*o, fields...)
	}
}

func folderShape(v Version, s *schema) *shape {
	v1, v2 := v == V1, v == V2
	filesystem := words("basic", "fake")
	versioning := structOf(plain("type", aText), plain("params", aDict), count("cleanupIntervalS", 3600),
		plain("fsPath", aText), field{name: "fsType", shape: filesystem, preset: presetIf(v2, "basic")})
	versioning.resets = true
	var f only
	f.add(plain("id", aText), plain("label", aText), plain("filesystemType", filesystem), word("path", s.folderPath),
		plain("type", words("sendreceive", "sendonly", "receiveonly", "receiveencrypted", "readwrite=sendreceive",
			"readonly=sendonly")),
		plain("devices", listOf(structOf(plain("deviceID", aDeviceID), plain("introducedBy", aDeviceID),
			plain("encryptionPassword", aText)))))
	f.in(v2, plain("group", aText))
	f.add(count("rescanIntervalS", 3600), flag("fsWatcherEnabled", true))
	f.in(v1, count("fsWatcherDelayS", 10))
	f.in(v2, decimal("fsWatcherDelayS", 10), plain("fsWatcherTimeoutS", aFloat))
	f.add(plain("ignorePerms", aBoolean), flag("autoNormalize", true), size("minDiskFree", 1),
		plain("versioning", versioning),
		plain("copiers", anInteger), plain("pullerMaxPendingKiB", anInteger), plain("hashers", anInteger),
		plain("order", words("random", "alphabetic", "smallestFirst", "largestFirst", "oldestFirst", "newestFirst")),
		plain("ignoreDelete", aBoolean), plain("scanProgressIntervalS", anInteger), plain("pullerPauseS", anInteger))
	f.in(v2, decimal("pullerDelayS", 1))
	f.add(count("maxConflicts", 10), plain("disableSparseFiles", aBoolean))
	f.in(v1, plain("disableTempIndexes", aBoolean))
	f.add(plain("paused", aBoolean))
	f.in(v1, plain("weakHashThresholdPct", anInteger))
	f.add(plain("markerName", aText), plain("copyOwnershipFromParent", aBoolean), plain("modTimeWindowS", anInteger))
	f.in(v1, count("maxConcurrentWrites", 2))
	f.in(v2, count("maxConcurrentWrites", 0))
	f.add(plain("disableFsync", aBoolean), plain("blockPullOrder", words("standard", "random", "inOrder")),
		plain("copyRangeMethod", words("standard", "ioctl", "copy_file_range", "sendfile", "duplicate_extents", "all")),
		plain("caseSensitiveFS", aBoolean), plain("junctionsAsDirs", aBoolean))
	f.in(v2, plain("syncOwnership", aBoolean), plain("sendOwnership", aBoolean), plain("syncXattrs", aBoolean),
		plain("sendXattrs", aBoolean),
		flag("blockIndexing", true),
		plain("xattrFilter", structOf(
			plain("entries", listOf(structOf(plain("match", aText), plain("permit", aBoolean)))),
			count("maxSingleEntrySize", 1024), count("maxTotalSize", 4096))))
	return structOf(f...)
}

func presetIf(has bool, text string) stconfig.Value {
	if has {
		return stconfig.Text(text)
	}
	return stconfig.Value{}
}

func deviceShape(v Version) *shape {
	var f only
	f.add(plain("deviceID", aDeviceID), plain("name", aText), plain("addresses", texts),
		plain("compression", words("metadata", "never", "always", "false=never", "true=metadata")), plain("certName", aText),
		plain("introducer", aBoolean), plain("skipIntroductionRemovals", aBoolean), plain("introducedBy", aDeviceID),
		plain("paused", aBoolean), plain("allowedNetworks", texts), plain("autoAcceptFolders", aBoolean),
		plain("maxSendKbps", anInteger), plain("maxRecvKbps", anInteger),
		plain("ignoredFolders", listOf(structOf(plain("time", anInstant), plain("id", aText), plain("label", aText)))),
		plain("maxRequestKiB", anInteger), plain("untrusted", aBoolean), plain("remoteGUIPort", anInteger))
	f.in(v == V2, plain("numConnections", anInteger), plain("group", aText))
	return structOf(f...)
}

func guiShape(v Version) *shape {
	var f only
	f.add(flag("enabled", true), word("address", "127.0.0.1:8384"), plain("unixSocketPermissions", aText),
		plain("user", aText),
		plain("password", aText), plain("authMode", words("static", "ldap")))
	f.in(v == V2, plain("metricsWithoutAuth", aBoolean))
	f.add(plain("useTLS", aBoolean), plain("apiKey", aText), plain("insecureAdminAccess", aBoolean),
		word("theme", "default"),
		plain("debugging", aBoolean), plain("insecureSkipHostcheck", aBoolean), plain("insecureAllowFrameLoading", aBoolean))
	f.in(v == V2, plain("sendBasicAuthPrompt", aBoolean))
	return structOf(f...)
}

func ldapShape() *shape {
	return structOf(plain("address", aText), plain("bindDN", aText),
		plain("transport", words("plain", "tls", "starttls")),
		plain("insecureSkipVerify", aBoolean), plain("searchBaseDN", aText), plain("searchFilter", aText))
}

func optionsShape(v Version) *shape {
	v1, v2 := v == V1, v == V2
	var f only
	f.add(plain("listenAddresses", texts), plain("globalAnnounceServers", texts), flag("globalAnnounceEnabled", true),
		flag("localAnnounceEnabled", true), count("localAnnouncePort", 21027),
		word("localAnnounceMCAddr", "[ff12::8384]:21027"),
		plain("maxSendKbps", anInteger), plain("maxRecvKbps", anInteger), count("reconnectionIntervalS", 60),
		flag("relaysEnabled", true), count("relayReconnectIntervalM", 10), flag("startBrowser", true),
		flag("natEnabled", true),
		count("natLeaseMinutes", 60), count("natRenewalMinutes", 30), count("natTimeoutSeconds", 10),
		plain("urAccepted", anInteger),
		plain("urSeen", anInteger), plain("urUniqueId", aText), word("urURL", "https://data.syncthing.net/newdata"),
		plain("urPostInsecurely", aBoolean), count("urInitialDelayS", 1800))
	f.in(v1, flag("restartOnWakeup", true))
	f.add(count("autoUpgradeIntervalH", 12), plain("upgradeToPreReleases", aBoolean), count("keepTemporariesH", 24),
		plain("cacheIgnoredFiles", aBoolean), count("progressUpdateIntervalS", 5), plain("limitBandwidthInLan", aBoolean),
		size("minHomeDiskFree", 1), word("releasesURL", "https://upgrades.syncthing.net/meta.json"),
		plain("alwaysLocalNets", texts),
		plain("overwriteRemoteDeviceNamesOnConnect", aBoolean), count("tempIndexMinBlocks", 10),
		plain("unackedNotificationIDs", texts),
		plain("trafficClass", anInteger), flag("setLowPriority", true), plain("maxFolderConcurrency", anInteger),
		word("crURL", "https://crash.syncthing.net/newcrash"), flag("crashReportingEnabled", true),
		count("stunKeepaliveStartS", 180),
		count("stunKeepaliveMinS", 20), plain("stunServers", texts))
	f.in(v1, needsRestart(plain("databaseTuning", words("auto", "small", "large"))))
	f.add(plain("maxConcurrentIncomingRequestKiB", anInteger), flag("announceLANAddresses", true),
		plain("sendFullIndexOnUpgrade", aBoolean), plain("featureFlags", texts))
	f.in(v2, needsRestart(plain("auditEnabled", aBoolean)), needsRestart(plain("auditFile", aText)))
	f.add(plain("connectionLimitEnough", anInteger), plain("connectionLimitMax", anInteger))
	f.in(v1, plain("insecureAllowOldTLSVersions", aBoolean))
	f.in(v2, count("connectionPriorityTcpLan", 10), count("connectionPriorityQuicLan", 20),
		count("connectionPriorityTcpWan", 30),
		count("connectionPriorityQuicWan", 40), count("connectionPriorityRelay", 50),
		plain("connectionPriorityUpgradeThreshold", anInteger))
	return structOf(f...)
}
