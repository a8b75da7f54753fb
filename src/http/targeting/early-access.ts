/** Early access features of a project. */
import { PageQuery } from '../../contract/common.ts'
import {
  FeatureAnswer,
  FeatureChange,
  FeaturePage,
  NewFeature,
} from '../../contract/targeting/early-access.ts'
import {
  createFeature,
  type EarlyAccessFeature,
  getFeature,
  listFeatureHeads,
  removeFeature,
  updateFeature,
} from '../../targeting/early-access.ts'
import { answerJson } from '../answers.ts'
import type { AppContext } from '../app-context.ts'
import { answerPage } from '../pages.ts'
import { parseUuidId } from '../path-ids.ts'
import { projectRoute } from '../route.ts'
import { validatorOf } from '../shape.ts'
import { editorOf } from './flags/feature-flags.ts'
import { linkedFlags, type SerializeLinkedFlag, type ShownTo } from './flags/linked-flags.ts'

const NEW_FEATURE = validatorOf(NewFeature)
const FEATURE_CHANGE = validatorOf(FeatureChange)

export const EARLY_ACCESS_ROUTES = [
  projectRoute({
    method: 'GET',
    path: ['early_access_feature/', 'early_access_features/'],
    scope: 'early_access_feature:read',
    summary: "List the project's early access features.",
    query: PageQuery,
    answers: { 200: FeaturePage },
    answer: (app, { request, caller, project }) => {
      const flags = linkedFlags(app, { caller, project })
      const features = listFeatureHeads(app.control, project.id)
      return answerPage(request, app.publicUrl(), features, ({ id }) =>
        onWire(getFeature(app.control, project.id, id), flags),
      )
    },
  }),
  projectRoute({
    method: 'POST',
    path: ['early_access_feature/', 'early_access_features/'],
    scope: 'early_access_feature:write',
    summary: 'Make an early access feature, on a flag that is there or on a new one.',
    answers: { 201: FeatureAnswer },
    body: NEW_FEATURE,
    answer: (app, { body, project, caller }) => {
      const { name, stage, description, documentation_url, payload, feature_flag_id = null } = body
      const wanted = { name, stage, description, documentation_url, payload, feature_flag_id }
      const feature = createFeature(editorOf(app, project, caller), wanted, app.now())
      return answerFeature(app, { caller, project }, feature, 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: ['early_access_feature/:id/', 'early_access_features/:id/'],
    scope: 'early_access_feature:read',
    summary: 'Read an early access feature.',
    answers: { 200: FeatureAnswer },
    answer: (app, { params, caller, project }) =>
      answerFeature(
        app,
        { caller, project },
        getFeature(app.control, project.id, parseUuidId(params)),
      ),
  }),
  projectRoute({
    method: 'PATCH',
    path: ['early_access_feature/:id/', 'early_access_features/:id/'],
    scope: 'early_access_feature:write',
    summary: 'Change an early access feature; its flag opens and closes with the stage.',
    answers: { 200: FeatureAnswer },
    body: FEATURE_CHANGE,
    answer: (app, { body, params, project, caller }) => {
      const before = getFeature(app.control, project.id, parseUuidId(params))
      const { name, stage, description, documentation_url, payload } = body
      const wanted = { name, stage, description, documentation_url, payload }
      const editor = editorOf(app, project, caller)
      const feature = updateFeature(editor, before, wanted, app.now())
      return answerFeature(app, { caller, project }, feature)
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: ['early_access_feature/:id/', 'early_access_features/:id/'],
    scope: 'early_access_feature:write',
    summary: 'Remove an early access feature; its flag stays.',
    answers: { 204: null },
    answer: (app, { params, project, caller }) => {
      const feature = getFeature(app.control, project.id, parseUuidId(params))
      removeFeature(editorOf(app, project, caller), feature, app.now())
      return new Response(null, { status: 204 })
    },
  }),
] as const

function answerFeature(
  app: AppContext,
  to: ShownTo,
  feature: EarlyAccessFeature,
  status = 200,
): Response {
  return answerJson(onWire(feature, linkedFlags(app, to)), status)
}

function onWire(feature: EarlyAccessFeature, flags: SerializeLinkedFlag): object {
  const { project_id: _project, feature_flag_id, payload, ...stored } = feature
  return { ...stored, payload: payload ?? {}, feature_flag: flags(feature_flag_id) }
}
