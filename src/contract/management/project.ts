/** Schemas of projects: bodies, answers, items of lists. */
import { t } from 'elysia'
import {
  AnyJson,
  Moment,
  NullableMoment,
  NullableText,
  NullableYes,
  pageOfItems,
  Uuid,
  Whole,
} from '../common.ts'
import { NullableUser } from '../user-basic.ts'

const ADDRESS_LENGTH_MAX = 200
const WEBHOOK_LENGTH_MAX = 500
const DESCRIPTION_LENGTH_MAX = 1000
const TEXTS_MAX = 1000

const Texts = t.Array(t.String({ maxLength: ADDRESS_LENGTH_MAX }), { maxItems: TEXTS_MAX })

/** Members of a list item, in the order of the answer. */
export const PROJECT_LIST_MEMBERS = [
  'id',
  'uuid',
  'organization',
  'api_token',
  'name',
  'completed_snippet_onboarding',
  'has_completed_onboarding_for',
  'ingested_event',
  'is_demo',
  'timezone',
  'access_control',
] as const

/** Members that callers set; the projects room checks single values. */
const settable = {
  name: t.String(),
  product_description: t.Nullable(t.String({ maxLength: DESCRIPTION_LENGTH_MAX })),
  app_urls: Texts,
  slack_incoming_webhook: t.Nullable(t.String({ maxLength: WEBHOOK_LENGTH_MAX })),
  anonymize_ips: t.Boolean(),
  completed_snippet_onboarding: t.Boolean(),
  test_account_filters: AnyJson,
  test_account_filters_default_checked: NullableYes,
  path_cleaning_filters: AnyJson,
  is_demo: t.Boolean(),
  timezone: t.String(),
  data_attributes: AnyJson,
  person_display_name_properties: t.Nullable(Texts),
  correlation_config: AnyJson,
  autocapture_opt_out: NullableYes,
  autocapture_exceptions_opt_in: NullableYes,
  autocapture_web_vitals_opt_in: NullableYes,
  autocapture_web_vitals_allowed_metrics: AnyJson,
  autocapture_exceptions_errors_to_ignore: AnyJson,
  capture_console_log_opt_in: NullableYes,
  capture_performance_opt_in: NullableYes,
  session_recording_opt_in: t.Boolean(),
  session_recording_minimum_duration_milliseconds: t.Nullable(Whole),
  session_recording_linked_flag: AnyJson,
  session_recording_network_payload_capture_config: AnyJson,
  session_replay_config: AnyJson,
  survey_config: AnyJson,
  access_control: t.Boolean(),
  week_start_day: t.Nullable(Whole),
  primary_dashboard: t.Nullable(Whole),
  live_events_columns: t.Nullable(Texts),
  recording_domains: t.Nullable(Texts),
  inject_web_apps: NullableYes,
  extra_settings: AnyJson,
  modifiers: AnyJson,
  has_completed_onboarding_for: AnyJson,
  surveys_opt_in: NullableYes,
  heatmaps_opt_in: NullableYes,
  flags_persistence_default: NullableYes,
  /** 0 for off, 1 and 2 for ways of counting visitors without cookies. Kept for clients; nothing here reads it. */
  cookieless_server_hash_mode: t.Nullable(t.Number({ multipleOf: 1, minimum: 0, maximum: 2 })),
}

/** Body of create and update: every member is optional, unknown and read-only ones are ignored. */
export const ProjectBody = t.Partial(
  t.Object({
    ...settable,
    session_recording_sample_rate: t.Nullable(t.Union([t.String(), t.Number()])),
  }),
  { additionalProperties: true },
)

const ProductIntent = t.Object({
  product_type: t.String(),
  contexts: AnyJson,
  metadata: AnyJson,
  created_at: Moment,
  updated_at: Moment,
  onboarding_completed_at: NullableMoment,
})

const members = {
  ...settable,
  id: Whole,
  uuid: Uuid,
  organization: Uuid,
  api_token: t.String(),
  created_at: Moment,
  updated_at: Moment,
  effective_membership_level: Whole,
  has_group_types: t.Boolean(),
  live_events_token: t.String(),
  ingested_event: t.Boolean(),
  session_recording_sample_rate: NullableText,
  person_on_events_querying_enabled: t.Boolean(),
  default_modifiers: t.Object({}, { additionalProperties: true }),
  product_intents: t.Array(ProductIntent),
}

/** A project with all its fields. */
export const ProjectAnswer = t.Object(members)

/** A project in a list. */
export const ProjectItem = t.Pick(ProjectAnswer, [...PROJECT_LIST_MEMBERS])
export const ProjectPage = pageOfItems(ProjectItem)

const AccessControl = t.Object({
  resource: t.String(),
  access_level: t.String(),
  organization_member: t.Nullable(Uuid),
  updated_at: Moment,
})

const access = {
  access_controls: t.Array(AccessControl),
  available_access_levels: t.Array(t.String()),
  default_access_level: t.String(),
  user_access_level: t.String(),
  user_can_edit_access_levels: t.Boolean(),
}

/** A project and its access levels. */
export const ProjectAccessAnswer = t.Object({ ...members, ...access })

/** A project and its access levels by resource. */
export const ResourceAccessAnswer = t.Object({
  ...members,
  ...access,
  available_resources: t.Array(t.String()),
})

/** Body of PUT …/access_controls/: null removes the level, no member means all members. */
export const AccessBody = t.Object(
  {
    access_level: t.Nullable(t.UnionEnum(['none', 'member', 'admin'])),
    organization_member: t.Optional(t.Nullable(t.String())),
  },
  { additionalProperties: true },
)

/** Body of PUT …/global_access_controls/. */
export const ResourceAccessBody = t.Object(
  {
    resource: t.String(),
    access_level: t.Nullable(t.UnionEnum(['none', 'viewer', 'editor'])),
    organization_member: t.Optional(t.Nullable(t.String())),
  },
  { additionalProperties: true },
)

/** One entry of an activity log. */
const ActivityEntry = t.Object({
  id: t.String(),
  user: NullableUser,
  organization_id: Uuid,
  unread: t.Boolean(),
  was_impersonated: t.Boolean(),
  is_system: t.Boolean(),
  activity: t.String(),
  scope: t.String(),
  item_id: t.String(),
  detail: t.Object({
    name: t.String(),
    changes: t.Array(
      t.Object({
        type: t.String(),
        action: t.String(),
        field: t.String(),
        before: AnyJson,
        after: AnyJson,
      }),
    ),
    short_id: NullableText,
    trigger: AnyJson,
    type: NullableText,
  }),
  created_at: Moment,
})

const activity = {
  results: t.Array(ActivityEntry),
  next: NullableText,
  previous: NullableText,
  total_count: Whole,
}

/** The activity of one object. */
export const ItemActivityAnswer = t.Object(activity)

/** A project and its activity. */
export const ProjectActivityAnswer = t.Object({ ...members, ...activity })

/** The activity of a project or an organization. */
export const ActivityAnswer = t.Object({ ...activity, count: Whole })

/** Query parameters of activity logs; pages count from 1. */
export const ActivityQuery = t.Object({
  page: t.Optional(Whole),
  limit: t.Optional(Whole),
  scope: t.Optional(t.String()),
  item_id: t.Optional(t.String()),
})

/** Query parameters of the log of a project or an organization. */
export const ActivityLogQuery = t.Object({
  ...ActivityQuery.properties,
  /** The same as `limit`. */
  page_size: t.Optional(Whole),
  /** Kinds of items, with commas between them. */
  scopes: t.Optional(t.String()),
  /** The id or the UUID of a user. */
  user: t.Optional(t.String()),
})

/** A project and the progress of its demo data. */
export const DemoStateAnswer = t.Object({
  ...members,
  is_generating_demo_data: t.Boolean(),
  demo_data: t.Nullable(
    t.Object({
      state: t.String(),
      seed: t.String(),
      progress: t.Number(),
      done_events: Whole,
      total_events: Whole,
      error: NullableText,
      started_at: Moment,
      finished_at: NullableMoment,
    }),
  ),
})

/** Body of POST …/generate_demo_data/; every member is optional. */
export const DemoBody = t.Object(
  {
    seed: t.Optional(t.String({ minLength: 1, maxLength: ADDRESS_LENGTH_MAX })),
    persons: t.Optional(Whole),
    days: t.Optional(Whole),
    end_at: t.Optional(Moment),
  },
  { additionalProperties: true },
)

/** Body of add_product_intent and complete_product_onboarding. */
export const IntentBody = t.Object(
  {
    product_type: t.Optional(t.Nullable(t.String({ minLength: 1, maxLength: ADDRESS_LENGTH_MAX }))),
    intent_context: t.Optional(t.Nullable(t.String({ maxLength: ADDRESS_LENGTH_MAX }))),
    metadata: t.Optional(t.Nullable(t.Object({}, { additionalProperties: true }))),
  },
  { additionalProperties: true },
)
