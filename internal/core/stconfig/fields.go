package stconfig

// configuration describes the whole document. The section `ignores` is Muster's own: it holds the ignore patterns of
// the folders that templates name, which the daemon keeps outside its configuration.
var configuration = object(
	named("version", &shape{kind: Number, whole: true, readOnly: true}),
	named("folders", &shape{kind: Array, identity: "id", entry: folder, defaults: "folder"}),
	named("devices", &shape{kind: Array, identity: "deviceID", entry: device, defaults: "device", own: ownKept}),
	named("gui", gui),
	named("ldap", object(text("address bindDN"), choice("transport", "plain tls starttls"), flags("insecureSkipVerify"),
		text("searchBaseDN searchFilter"))),
	named("options", options),
	named("remoteIgnoredDevices", observedDevices),
	named("pendingDevices", observedDevices), // Only 1.12 has it.
	named("defaults", object(
		named("folder", folder),
		named("device", device),
		named("ignores", object(named("lines", ignoreList))))),
	named("ignores", &shape{kind: Object, free: true, closed: true,
		entry: ignoreList}),
)

var ignoreList = &shape{kind: Array, lines: true, entry: &shape{kind: String, mistake: mistakenInclude}}

// VersioningTypes are the kinds of versioning that daemons know. A daemon panics on any other kind (seen on 1.19.2).
var VersioningTypes = []string{"", "simple", "trashcan", "staggered", "external"}

var folder = object(
	noDefault(text("id")),
	text("label filesystemType group"),
	noDefault(named("path", checkedText(mistakenPath))), // The default of 1.19 is `~`, the whole home directory.
	choice("type", "sendreceive sendonly receiveonly receiveencrypted"),
	named("devices", folderDevices),
	whole("rescanIntervalS"),
	flags("fsWatcherEnabled"),
	number("fsWatcherDelayS fsWatcherTimeoutS"),
	flags("ignorePerms autoNormalize"),
	named("minDiskFree", size),
	named("versioning", object(
		named("type", &shape{kind: String, choices: VersioningTypes}),
		named("params", freeMap(&shape{kind: String})),
		whole("cleanupIntervalS"),
		text("fsPath fsType"))),
	whole("copiers pullerMaxPendingKiB hashers"),
	choice("order", "random alphabetic smallestFirst largestFirst oldestFirst newestFirst"),
	flags("ignoreDelete"),
	whole("scanProgressIntervalS pullerPauseS"),
	number("pullerDelayS"),
	whole("maxConflicts"),
	flags("disableSparseFiles disableTempIndexes paused"),
	whole("weakHashThresholdPct"),
	text("markerName"),
	flags("copyOwnershipFromParent"),
	whole("modTimeWindowS maxConcurrentWrites"),
	flags("disableFsync blockIndexing"),
	choice("blockPullOrder", "standard random inOrder"),
	choice("copyRangeMethod", "standard ioctl copy_file_range sendfile duplicate_extents all"),
	flags("caseSensitiveFS junctionsAsDirs syncOwnership sendOwnership scanOwnership syncXattrs sendXattrs"),
	named("xattrFilter", object(
		named("entries", plainObjects(object(text("match"), flags("permit")))),
		whole("maxSingleEntrySize maxTotalSize"))),
	flags("readOnly"), // Daemons up to 1.27 may show this and the following deprecated fields.
	number("minDiskFreePct"),
	whole("pullers"),
)

var folderDevices = members("deviceID", ownAlways,
	object(deviceID("deviceID introducedBy"), secret("encryptionPassword")))

var device = object(
	deviceID("deviceID"),
	text("name"),
	textsOr("dynamic", "addresses", checkedText(mistakenAddress)),
	choice("compression", "never metadata always"),
	text("certName"),
	flags("introducer skipIntroductionRemovals"),
	deviceID("introducedBy"),
	flags("paused"),
	texts("allowedNetworks"),
	flags("autoAcceptFolders"),
	whole("maxSendKbps maxRecvKbps"),
	named("ignoredFolders", observedFolders),
	named("pendingFolders", observedFolders), // Only 1.12 has it.
	whole("maxRequestKiB"),
	flags("untrusted"),
	text("group"),
	whole("remoteGUIPort numConnections"),
)

var observedDevices = members("deviceID", ownNothing,
	object(text("time"), deviceID("deviceID"), text("name address")))

var observedFolders = members("id", ownNothing, object(text("time id label")))

// members describes an identified list whose new members start from zero values.
func members(identity string, own ownRule, entry *shape) *shape {
	blank := entry.zero()
	if _, timed := entry.field("time"); timed {
		// Go, and so the daemon, writes the zero time in this way.
		blank = blank.With("time", Text("0001-01-01T00:00:00Z"))
	}
	return &shape{kind: Array, identity: identity, entry: entry, own: own, blank: blank}
}

// plainObjects describes a list of objects without identity, whose order counts.
func plainObjects(entry *shape) *shape {
	return &shape{kind: Array, entry: entry, blank: entry.zero()}
}

var size = object(number("value"), named("unit", wordOf(mistakenUnit)))

var gui = object(
	flags("enabled"),
	text("address unixSocketPermissions user"),
	secret("password"),
	text("authMode"),
	flags("useTLS"),
	secret("apiKey"),
	flags("insecureAdminAccess"),
	named("theme", checkedText(mistakenTheme)),
	flags("debugging insecureSkipHostcheck insecureAllowFrameLoading sendBasicAuthPrompt metricsWithoutAuth"),
	whole("sessionCookieDurationS"),
	text("sessionCookiePath"),
)

var options = object(
	uniqueTexts("listenAddresses", checkedText(mistakenListenAddress)),
	uniqueTexts("globalAnnounceServers", checkedText(mistakenDiscoveryServer)),
	flags("globalAnnounceEnabled localAnnounceEnabled"),
	whole("localAnnouncePort"),
	text("localAnnounceMCAddr"),
	whole("maxSendKbps maxRecvKbps reconnectionIntervalS"),
	flags("relaysEnabled"),
	whole("relayReconnectIntervalM"),
	flags("startBrowser natEnabled"),
	whole("natLeaseMinutes natRenewalMinutes natTimeoutSeconds urAccepted urSeen"),
	text("urUniqueId urURL"),
	flags("urPostInsecurely"),
	whole("urInitialDelayS"),
	flags("restartOnWakeup"),
	whole("autoUpgradeIntervalH"),
	flags("upgradeToPreReleases"),
	whole("keepTemporariesH"),
	flags("cacheIgnoredFiles"),
	whole("progressUpdateIntervalS"),
	flags("limitBandwidthInLan"),
	named("minHomeDiskFree", size),
	text("releasesURL"),
	texts("alwaysLocalNets"),
	flags("overwriteRemoteDeviceNamesOnConnect"),
	whole("tempIndexMinBlocks"),
	texts("unackedNotificationIDs"),
	whole("trafficClass"),
	text("defaultFolderPath"),
	flags("setLowPriority"),
	whole("maxFolderConcurrency"),
	text("crURL"),
	flags("crashReportingEnabled"),
	whole("stunKeepaliveStartS stunKeepaliveMinS"),
	texts("stunServers"),
	text("databaseTuning"),
	whole("maxConcurrentIncomingRequestKiB"),
	flags("announceLANAddresses sendFullIndexOnUpgrade"),
	texts("featureFlags"),
	flags("auditEnabled"),
	text("auditFile"),
	whole("connectionLimitEnough connectionLimitMax"),
	flags("insecureAllowOldTLSVersions"),
	whole("connectionPriorityTcpLan connectionPriorityQuicLan connectionPriorityTcpWan connectionPriorityQuicWan"),
	whole("connectionPriorityRelay connectionPriorityUpgradeThreshold"),
)
