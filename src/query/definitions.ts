/** Types of stored event and property definitions, for http/, which may not import storage/. */
export type {
  DetectedOwner,
  EventDefinition,
  PropertyDefinition,
} from '../storage/files/definition-reader.ts'
