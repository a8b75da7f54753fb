/** Schemas of exports. */
import { t } from 'elysia'
import { AnyJson, Moment, pageOfItems, Whole } from '../common.ts'

/** Body of POST …/exports/: an insight, a dashboard (pictures only), or a query in `export_context`. */
export const ExportBody = t.Object(
  {
    export_format: t.String({ minLength: 1, maxLength: 200 }),
    insight: t.Optional(t.Nullable(Whole)),
    dashboard: t.Optional(t.Nullable(Whole)),
    export_context: t.Optional(
      t.Nullable(
        t.Object(
          {
            query: t.Optional(t.Nullable(t.Object({}, { additionalProperties: true }))),
            source: t.Optional(t.Nullable(t.Object({}, { additionalProperties: true }))),
            filename: t.Optional(t.Nullable(t.String({ maxLength: 200 }))),
          },
          { additionalProperties: true },
        ),
      ),
    ),
  },
  { additionalProperties: true },
)

/** A query whose answer can be downloaded. */
export const ExportAnswer = t.Object({
  id: Whole,
  insight: t.Nullable(Whole),
  dashboard: t.Nullable(Whole),
  export_format: t.String(),
  export_context: AnyJson,
  filename: t.String(),
  /** The answer is computed at each download. */
  has_content: t.Literal(true),
  exception: t.Null(),
  created_at: Moment,
  expires_after: Moment,
})
export const ExportPage = pageOfItems(ExportAnswer)
