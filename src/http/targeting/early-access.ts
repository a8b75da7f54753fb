/** Early access features under a project (wire §4.10). */
import { PageQuery } from '../../contract/common.ts'
import {
  FeatureAnswer,
  FeatureChange,
  FeaturePage,
  NewFeature,
} from '../../contract/early-access.ts'
import {
  createFeature,
  type EarlyAccessFeature,
  getFeature,
  listFeatures,
  removeFeature,
  updateFeature,
} from '../../targeting/early-access.ts'
import { answerJson } from '../answers.ts'
import { uuidIn } from '../ids.ts'
import type { Needs } from '../needs.ts'
import { answerPage } from '../pages.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { editorOf } from './feature-flags.ts'
import { linkedFlags, type ShowLinked, type ShownTo } from './linked-flags.ts'

const NEW_FEATURE = shapeOf(NewFeature)
const FEATURE_CHANGE = shapeOf(FeatureChange)

export const EARLY_ACCESS_ROUTES = [
  projectRoute({
    method: 'GET',
    path: ['early_access_feature/', 'early_access_features/'],
    scope: 'early_access_feature:read',
    says: "List the project's early access features.",
    query: PageQuery,
    answers: { 200: FeaturePage },
    answer: (needs, { request, asker, project }) => {
      const flags = linkedFlags(needs, { asker, project })
      const features = listFeatures(needs.control, project.id)
      return answerPage(request, needs.publicUrl(), features, (one) => onWire(one, flags))
    },
  }),
  projectRoute({
    method: 'POST',
    path: ['early_access_feature/', 'early_access_features/'],
    scope: 'early_access_feature:write',
    says: 'Make an early access feature, on a flag that is there or on a new one.',
    answers: { 201: FeatureAnswer },
    body: NEW_FEATURE,
    answer: (needs, { body, project, asker }) => {
      const { name, stage, description, documentation_url, payload, feature_flag_id = null } = body
      const wanted = { name, stage, description, documentation_url, payload, feature_flag_id }
      const feature = createFeature(editorOf(needs, project, asker), wanted, needs.now())
      return answerFeature(needs, { asker, project }, feature, 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: ['early_access_feature/:id/', 'early_access_features/:id/'],
    scope: 'early_access_feature:read',
    says: 'Read an early access feature.',
    answers: { 200: FeatureAnswer },
    answer: (needs, { params, asker, project }) =>
      answerFeature(
        needs,
        { asker, project },
        getFeature(needs.control, project.id, uuidIn(params)),
      ),
  }),
  projectRoute({
    method: 'PATCH',
    path: ['early_access_feature/:id/', 'early_access_features/:id/'],
    scope: 'early_access_feature:write',
    says: 'Change an early access feature; its flag opens and closes with the stage.',
    answers: { 200: FeatureAnswer },
    body: FEATURE_CHANGE,
    answer: (needs, { body, params, project, asker }) => {
      const before = getFeature(needs.control, project.id, uuidIn(params))
      const { name, stage, description, documentation_url, payload } = body
      const wanted = { name, stage, description, documentation_url, payload }
      const editor = editorOf(needs, project, asker)
      const feature = updateFeature(editor, before, wanted, needs.now())
      return answerFeature(needs, { asker, project }, feature)
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: ['early_access_feature/:id/', 'early_access_features/:id/'],
    scope: 'early_access_feature:write',
    says: 'Remove an early access feature; its flag stays.',
    answers: { 204: null },
    answer: (needs, { params, project, asker }) => {
      const feature = getFeature(needs.control, project.id, uuidIn(params))
      removeFeature(editorOf(needs, project, asker), feature, needs.now())
      return new Response(null, { status: 204 })
    },
  }),
] as const

function answerFeature(
  needs: Needs,
  to: ShownTo,
  feature: EarlyAccessFeature,
  status = 200,
): Response {
  return answerJson(onWire(feature, linkedFlags(needs, to)), status)
}

function onWire(feature: EarlyAccessFeature, flags: ShowLinked): object {
  const { project_id: _project, feature_flag_id, payload, ...stored } = feature
  return { ...stored, payload: payload ?? {}, feature_flag: flags(feature_flag_id) }
}
