package fleet

// Subject is what a person looks at to go on after an error. Each way to use Muster has its own name for it: a path of
// the API, a command, a page of the console.
type Subject string

const (
	SeeAPI             Subject = "api"     // The description of the API.
	SeeRequest         Subject = "request" // The request is not one of the API: a program made it, not a person.
	SeeDevices         Subject = "devices"
	SeeDeviceState     Subject = "deviceState"
	SeeDevicePlan      Subject = "devicePlan"
	SeeDeviceSettings  Subject = "deviceSettings"
	SeeDeviceTrust     Subject = "deviceTrust"
	SeeRevisions       Subject = "revisions"
	SeeTemplates       Subject = "templates"
	SeeTemplateHistory Subject = "templateHistory"
	SeeTags            Subject = "tags"
	SeeFolders         Subject = "folders"
	SeeRollouts        Subject = "rollouts"
	SeeOrders          Subject = "orders"
	SeeConsents        Subject = "consents"
	SeePending         Subject = "pending"
	SeeSinks           Subject = "sinks"
	SeeSecrets         Subject = "secrets"
	SeeSessions        Subject = "sessions"
	SeeUsers           Subject = "users"
	SeeTokens          Subject = "tokens"
	SeeEnrollKeys      Subject = "enrollKeys"
	SeeEnrollments     Subject = "enrollments"
	SeeChannels        Subject = "channels"
	SeeRoutes          Subject = "routes"
	SeeSilences        Subject = "silences"
)

// Reference is a Subject, and the ID of the device or template that it belongs to; "" where it belongs to none, or to
// the one that the caller asked about.
type Reference struct {
	Subject Subject
	ID      string
}
