import { REMOVAL_SCENARIOS } from './removal-scenarios.ts';
import { testScenarios } from './scenario-suite.ts';

testScenarios('Deleting, compacting and streaming keep the promises:', REMOVAL_SCENARIOS);
