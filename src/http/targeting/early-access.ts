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
import type { AppContext } from '../app-context.ts'
import { validatorOf } from '../bodies/shape.ts'
import { targetingEditor } from '../callers/editors.ts'
import { parseUuidId } from '../path-ids.ts'
import { resource } from '../resource.ts'
import { linkedFlags, type ShownTo } from './flags/linked-flags.ts'

const NEW_FEATURE = validatorOf(NewFeature)
const FEATURE_CHANGE = validatorOf(FeatureChange)

export const EARLY_ACCESS_ROUTES = resource({
  path: ['early_access_feature/', 'early_access_features/'],
  resource: 'early_access_feature',
  answer: FeatureAnswer,
  find: (app, project, params) => getFeature(app.control, project.id, parseUuidId(params)),
  serializer: featureSerializer,
  list: {
    summary: "List the project's early access features.",
    query: PageQuery,
    answer: FeaturePage,
    items: (app, { project }) => listFeatureHeads(app.control, project.id),
    open: (app, project, { id }) => getFeature(app.control, project.id, id),
  },
  create: {
    summary: 'Create an early access feature, on an existing flag or a new one.',
    body: NEW_FEATURE,
    run: (app, { body, project, caller }) => {
      const { name, stage, description, documentation_url, payload, feature_flag_id = null } = body
      const wanted = { name, stage, description, documentation_url, payload, feature_flag_id }
      return createFeature(targetingEditor(app, project, caller), wanted, app.now())
    },
  },
  read: { summary: 'Read an early access feature.' },
  change: {
    summary: 'Change an early access feature; its stage opens or closes its flag.',
    body: FEATURE_CHANGE,
    run: (app, { body, project, caller }, before) => {
      const { name, stage, description, documentation_url, payload, rollout_to_all } = body
      const wanted = { name, stage, description, documentation_url, payload, rollout_to_all }
      return updateFeature(targetingEditor(app, project, caller), before, wanted, app.now())
    },
  },
  remove: {
    summary: 'Delete an early access feature; its flag stays.',
    run: (app, { project, caller }, feature) =>
      removeFeature(targetingEditor(app, project, caller), feature, app.now()),
  },
})

function featureSerializer(app: AppContext, to: ShownTo): (feature: EarlyAccessFeature) => object {
  const flags = linkedFlags(app, to)
  return ({ project_id: _project, feature_flag_id, payload, ...stored }) => ({
    ...stored,
    payload: payload ?? {},
    feature_flag: flags(feature_flag_id),
  })
}
