/** Schemas of actions: events under one name, by their steps. */
import { t } from 'elysia'
import {
  AnyJson,
  Moment,
  NullableMoment,
  NullableText,
  PageQuery,
  pageOfItems,
  Whole,
} from '../common.ts'
import { NullableUser } from '../user-basic.ts'

const NAME_LENGTH_MAX = 400
const TEXT_LENGTH_MAX = 4000
const STEPS_MAX = 100
const PROPERTIES_MAX = 100
const TAGS_MAX = 100

const Text = t.Optional(t.Nullable(t.String({ maxLength: TEXT_LENGTH_MAX })))
const Matching = t.Optional(t.Nullable(t.UnionEnum(['contains', 'exact', 'regex'])))

/** Conditions of one step; all that are set must hold. */
const Step = t.Object(
  {
    event: Text,
    properties: t.Optional(
      t.Nullable(
        t.Array(t.Object({}, { additionalProperties: true }), { maxItems: PROPERTIES_MAX }),
      ),
    ),
    selector: Text,
    tag_name: Text,
    text: Text,
    text_matching: Matching,
    href: Text,
    href_matching: Matching,
    url: Text,
    url_matching: Matching,
    name: Text,
  },
  { additionalProperties: true },
)

const members = {
  description: t.Optional(t.Nullable(t.String({ maxLength: TEXT_LENGTH_MAX }))),
  tags: t.Optional(t.Array(t.String({ maxLength: 255 }), { maxItems: TAGS_MAX })),
  steps: t.Optional(t.Nullable(t.Array(Step, { maxItems: STEPS_MAX }))),
  post_to_slack: t.Optional(t.Boolean()),
  slack_message_format: t.Optional(t.Nullable(t.String({ maxLength: 1200 }))),
  deleted: t.Optional(t.Boolean()),
  pinned_at: t.Optional(t.Nullable(t.String())),
}

/** Body of POST …/actions/. */
export const NewAction = t.Object(
  { name: t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX }), ...members },
  { additionalProperties: true },
)

/** Body of PATCH …/actions/{id}/. */
export const ActionChange = t.Object(
  { name: t.Optional(t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX })), ...members },
  { additionalProperties: true },
)

export const ActionsQuery = t.Object({ ...PageQuery.properties, search: t.Optional(t.String()) })

/** An action as the API returns it. */
export const ActionAnswer = t.Object({
  id: Whole,
  team_id: Whole,
  name: t.String(),
  description: t.String(),
  tags: t.Array(t.String()),
  steps: t.Array(
    t.Object({
      event: NullableText,
      properties: t.Array(AnyJson),
      selector: NullableText,
      tag_name: NullableText,
      text: NullableText,
      text_matching: NullableText,
      href: NullableText,
      href_matching: NullableText,
      url: NullableText,
      url_matching: NullableText,
      name: NullableText,
    }),
  ),
  post_to_slack: t.Boolean(),
  slack_message_format: t.String(),
  deleted: t.Boolean(),
  pinned_at: NullableMoment,
  created_by: NullableUser,
  created_at: Moment,
  updated_at: Moment,
  is_action: t.Boolean(),
  is_calculating: t.Boolean(),
  last_calculated_at: NullableMoment,
  bytecode_error: NullableText,
  creation_context: NullableText,
})

export const ActionPage = pageOfItems(ActionAnswer)

/** The number of events that are an action. */
export const ActionCount = t.Object({ count: Whole })
