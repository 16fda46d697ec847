package api

// Channel is one receiver of messages about problems.
type Channel struct {
	Name      string `json:"name" doc:"1 to 64 of the characters a-z, 0-9 and -; default: the receivers that flags and settings name"`
	Type      string `json:"type" enum:"default,webhook,mail,slack,teams,discord,ntfy,pagerduty,alertmanager" doc:"In which form it gets messages. default: as flags and settings say"`
	Host      string `json:"host" doc:"Host of the URL, which is never shown as a whole because it often contains a token; blank for mail"`
	To        string `json:"to" doc:"Address of mail; blank for the others"`
	HasSecret bool   `json:"hasSecret" doc:"A secret is stored. It is never shown"`
	SetBy     string `json:"setBy" doc:"Person or token that set it last; blank for default"`
	SetAt     *Time  `json:"setAt" format:"date-time" nullable:"true" doc:"When it was set last; null for default"`
	Waiting   int    `json:"waiting" doc:"Messages that were not delivered yet"`
	Trouble   string `json:"trouble" doc:"Why the last attempt failed; blank when it did not"`
	Since     *Time  `json:"since" format:"date-time" nullable:"true" doc:"Of the trouble; null without trouble"`
}

// PutChannel is the body of a PUT of a channel.
type PutChannel struct {
	Type   *string `json:"type,omitempty" enum:"webhook,mail,slack,teams,discord,ntfy,pagerduty,alertmanager" doc:"Needed for a new channel; it does not change later"`
	URL    *string `json:"url,omitempty" doc:"Where messages are posted. Write-only. Missing: it stays"`
	To     *string `json:"to,omitempty" doc:"Address of mail. Missing: it stays"`
	Secret *string `json:"secret,omitempty" doc:"Signs messages to a webhook; integration key of PagerDuty; token that ntfy or Alertmanager asks for. Write-only. Missing: it stays; blank: none"`
}

// ChannelTested is what came of a trial of a channel.
type ChannelTested struct {
	Found string `json:"found" doc:"What was found, for a person"`
}

// Delivery is an entry of the log of a channel.
type Delivery struct {
	At       Time   `json:"at" format:"date-time" doc:"When the message was sent"`
	NoticeID string `json:"noticeID" doc:"ID of the message"`
	Type     string `json:"type" enum:"problem,resolved,trial" doc:"What the message is"`
	Summary  string `json:"summary" doc:"The message in a sentence"`
	Accepted bool   `json:"accepted" doc:"The receiver accepted it"`
	Answer   string `json:"answer" doc:"What the receiver answered, or why it could not be asked"`
}

// ProblemMatch chooses problems. Each list that has entries must have one that fits; a list without entries fits
// everything.
type ProblemMatch struct {
	Tags       []string `json:"tags" nullable:"false" doc:"The device carries one of them"`
	Kinds      []string `json:"kinds" nullable:"false" enum:"held,failed,contended,unstable,pinMismatch,identityMismatch,keyRefused,unconfirmed,cloned,broughtBack,unreachable,stale,folderStopped,driveMissing,diskNearlyFull,atRisk,failedItems,stalled,alone,disagree,outOfSync,localChanges,conflicts,enrollment,rolloutHalted,rolloutApproval,impairment" doc:"What kind of trouble it is"`
	Severities []string `json:"severities" nullable:"false" enum:"critical,warning,info" doc:"How bad it is"`
	Folders    []string `json:"folders" nullable:"false" doc:"IDs of folders: the problem is of one of them"`
	Devices    []string `json:"devices" nullable:"false" doc:"IDs of devices: the problem is of one of them"`
}

// PutProblemMatch chooses problems, in the body of a request.
type PutProblemMatch struct {
	Tags       *[]string `json:"tags,omitempty" nullable:"false" doc:"The device carries one of them. Missing: any"`
	Kinds      *[]string `json:"kinds,omitempty" nullable:"false" enum:"held,failed,contended,unstable,pinMismatch,identityMismatch,keyRefused,unconfirmed,cloned,broughtBack,unreachable,stale,folderStopped,driveMissing,diskNearlyFull,atRisk,failedItems,stalled,alone,disagree,outOfSync,localChanges,conflicts,enrollment,rolloutHalted,rolloutApproval,impairment" doc:"What kind of trouble it is. Missing: any"`
	Severities *[]string `json:"severities,omitempty" nullable:"false" enum:"critical,warning,info" doc:"How bad it is. Missing: any"`
	Folders    *[]string `json:"folders,omitempty" nullable:"false" doc:"IDs of folders. Missing: any"`
	Devices    *[]string `json:"devices,omitempty" nullable:"false" doc:"IDs of devices. Missing: any"`
}

// Route says which problems are told to which channels.
type Route struct {
	ProblemMatch

	Name      string   `json:"name" doc:"1 to 64 of the characters a-z, 0-9 and -"`
	Channels  []string `json:"channels" nullable:"false" doc:"Names of channels; default: the receivers that flags and settings name"`
	GroupBy   string   `json:"groupBy" doc:"How tags begin that have a message for each, for example site: with a message for each site; blank: one message for all"`
	RepeatS   int64    `json:"repeatS" doc:"After how many seconds a message comes again while its problems last; 0: it does not"`
	QuietFrom string   `json:"quietFrom" doc:"From this time of day of the server on nothing is sent; blank: there are no quiet hours"`
	QuietTo   string   `json:"quietTo" doc:"End of the quiet hours; blank: no quiet hours"`
	SetBy     string   `json:"setBy" doc:"Person or token that set it last"`
	SetAt     Time     `json:"setAt" format:"date-time" doc:"When it was set last"`
}

// PutRoute is the body of a PUT of a route, which replaces it as a whole.
type PutRoute struct {
	PutProblemMatch

	Channels  *[]string `json:"channels" nullable:"false" doc:"Names of channels; default: the receivers that flags and settings name"`
	GroupBy   *string   `json:"groupBy,omitempty" doc:"How tags begin that have a message for each, for example site: with a message for each site. Missing: one message for all"`
	RepeatS   *int64    `json:"repeatS,omitempty" minimum:"0" doc:"After how many seconds a message comes again while its problems last, 300 to 2592000. Missing or 0: it does not"`
	QuietFrom *string   `json:"quietFrom,omitempty" doc:"From this time of day of the server on nothing is sent, for example 22:00. Missing: there are no quiet hours"`
	QuietTo   *string   `json:"quietTo,omitempty" doc:"End of the quiet hours, for example 07:00"`
}

// Silence keeps Muster from telling anybody of some problems until it ends.
type Silence struct {
	ProblemMatch

	ID        string `json:"id" doc:"Names the silence"`
	Until     Time   `json:"until" format:"date-time" doc:"When it ends"`
	Reason    string `json:"reason" doc:"Why, for people"`
	CreatedBy string `json:"createdBy" doc:"Person or token that made it"`
	CreatedAt Time   `json:"createdAt" format:"date-time" doc:"When it was made"`
}

// CreateSilence is the body of a POST of a silence. At least one list must have an entry.
type CreateSilence struct {
	PutProblemMatch

	Until  *Time   `json:"until" format:"date-time" doc:"When it ends, at most 90 days from now"`
	Reason *string `json:"reason,omitempty" doc:"Why, for people"`
}
