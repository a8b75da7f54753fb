/** Variables of questions under a project: listed, made, read, changed, deleted (wire §4.10). */
import {
  createVariable,
  deleteVariable,
  getVariable,
  listVariables,
  updateVariable,
  type Variable,
  type WantedVariable,
} from '../../boards/variable.ts'
import { PageQuery } from '../../contract/common.ts'
import {
  NewVariable,
  VariableAnswer,
  VariableChange,
  VariablePage,
} from '../../contract/insight-variables.ts'
import type { Json } from '../../projects/tables.ts'
import { answerJson } from '../answers.ts'
import { uuidIn } from '../ids.ts'
import type { Needs } from '../needs.ts'
import { answerPage } from '../pages.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { authorNamer } from '../targeting/authors.ts'
import { boardEditor } from './insights.ts'

const NEW_VARIABLE = shapeOf(NewVariable)
const VARIABLE_CHANGE = shapeOf(VariableChange)

export const VARIABLE_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'insight_variables/',
    scope: 'insight:read',
    says: "List the project's variables, which questions name as {variables.code_name}.",
    query: PageQuery,
    answers: { 200: VariablePage },
    answer: (needs, { request, project }) => {
      const found = listVariables(needs.control, project.id)
      return answerPage(request, needs.publicUrl(), found, variableShower(needs))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'insight_variables/',
    scope: 'insight:write',
    says: 'Make a variable; its code name is made of its name and stays.',
    body: NEW_VARIABLE,
    answers: { 201: VariableAnswer },
    answer: (needs, { body, project, asker }) => {
      const wanted = { ...wantedVariable(body), name: body.name, type: body.type }
      const variable = createVariable(boardEditor(needs, project, asker), wanted, needs.now())
      return answerJson(variableShower(needs)(variable), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'insight_variables/:id/',
    scope: 'insight:read',
    says: 'Read a variable.',
    answers: { 200: VariableAnswer },
    answer: (needs, { params, project }) => {
      const variable = getVariable(needs.control, project.id, uuidIn(params))
      return answerJson(variableShower(needs)(variable))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'insight_variables/:id/',
    scope: 'insight:write',
    says: 'Change a variable; questions go on naming it as before.',
    body: VARIABLE_CHANGE,
    answers: { 200: VariableAnswer },
    answer: (needs, { body, params, project, asker }) => {
      const before = getVariable(needs.control, project.id, uuidIn(params))
      const editor = boardEditor(needs, project, asker)
      const variable = updateVariable(editor, before, wantedVariable(body), needs.now())
      return answerJson(variableShower(needs)(variable))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'insight_variables/:id/',
    scope: 'insight:write',
    says: 'Delete a variable for good.',
    answers: { 204: null },
    answer: (needs, { params, project, asker }) => {
      const variable = getVariable(needs.control, project.id, uuidIn(params))
      deleteVariable(boardEditor(needs, project, asker), variable, needs.now())
      return new Response(null, { status: 204 })
    },
  }),
] as const

/** Shows variables during one request. */
function variableShower(needs: Needs): (variable: Variable) => object {
  const nameAuthor = authorNamer(needs)
  return ({ project_id: _project, ...variable }) => ({
    ...variable,
    created_by: nameAuthor(variable.created_by),
  })
}

/** Of a body what is stored. */
function wantedVariable(body: VariableChange): WantedVariable {
  const wanted = {
    name: body.name,
    type: body.type,
    default_value: body.default_value as Json | undefined,
    values: body.values as Json | undefined,
  }
  // What is undefined was not said.
  const said = Object.entries(wanted).filter(([, value]) => value !== undefined)
  return Object.fromEntries(said) as WantedVariable
}
