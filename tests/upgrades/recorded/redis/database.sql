


SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;


CREATE SCHEMA dbos;



CREATE FUNCTION dbos.enqueue_workflow(workflow_name text, queue_name text, positional_args json[] DEFAULT ARRAY[]::json[], named_args json DEFAULT '{}'::json, class_name text DEFAULT NULL::text, config_name text DEFAULT NULL::text, workflow_id text DEFAULT NULL::text, app_version text DEFAULT NULL::text, timeout_ms bigint DEFAULT NULL::bigint, deadline_epoch_ms bigint DEFAULT NULL::bigint, deduplication_id text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, queue_partition_key text DEFAULT NULL::text, authenticated_user text DEFAULT NULL::text, authenticated_roles text DEFAULT NULL::text, delay_until_epoch_ms bigint DEFAULT NULL::bigint, application_name text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_workflow_id TEXT;
    v_serialized_inputs TEXT;
    v_owner_xid TEXT;
    v_now BIGINT;
    v_recovery_attempts INT4 := 0;
    v_priority INT4;
    v_status TEXT;
BEGIN

    -- Validate required parameters
    IF workflow_name IS NULL OR workflow_name = '' THEN
        RAISE EXCEPTION 'Workflow name cannot be null or empty';
    END IF;
    IF queue_name IS NULL OR queue_name = '' THEN
        RAISE EXCEPTION 'Queue name cannot be null or empty';
    END IF;
    IF named_args IS NOT NULL AND jsonb_typeof(named_args::jsonb) != 'object' THEN
        RAISE EXCEPTION 'Named args must be a JSON object';
    END IF;
    IF workflow_id IS NOT NULL AND workflow_id = '' THEN
        RAISE EXCEPTION 'Workflow ID cannot be an empty string if provided.';
    END IF;
    IF delay_until_epoch_ms IS NOT NULL AND delay_until_epoch_ms < 0 THEN
        RAISE EXCEPTION 'delay_until_epoch_ms must be >= 0';
    END IF;

    v_workflow_id := COALESCE(workflow_id, gen_random_uuid()::TEXT);
    v_owner_xid := gen_random_uuid()::TEXT;
    v_priority := COALESCE(priority, 0);
    v_serialized_inputs := json_build_object(
        'positionalArgs', positional_args,
        'namedArgs', named_args
    )::TEXT;
    v_now := EXTRACT(epoch FROM now()) * 1000;
    v_status := CASE WHEN delay_until_epoch_ms IS NULL THEN 'ENQUEUED' ELSE 'DELAYED' END;

    INSERT INTO "dbos".workflow_status (
        workflow_uuid, status,
        name, class_name, config_name,
        queue_name, deduplication_id, priority, queue_partition_key,
        application_version,
        created_at, updated_at, recovery_attempts,
        workflow_timeout_ms, workflow_deadline_epoch_ms,
        parent_workflow_id, owner_xid, serialization,
        authenticated_user, authenticated_roles,
        delay_until_epoch_ms, application_name
    ) VALUES (
        v_workflow_id, v_status,
        workflow_name, class_name, config_name,
        queue_name, deduplication_id, v_priority, queue_partition_key,
        app_version,
        v_now, v_now, v_recovery_attempts,
        timeout_ms, deadline_epoch_ms,
        NULL, v_owner_xid, 'portable_json',
        authenticated_user, authenticated_roles,
        delay_until_epoch_ms, application_name
    )
    ON CONFLICT (workflow_uuid)
    DO UPDATE SET
        updated_at = EXCLUDED.updated_at;

    INSERT INTO "dbos".workflow_input (
        workflow_uuid, inputs, retention_timestamp
    ) VALUES (
        v_workflow_id, v_serialized_inputs, v_now
    )
    ON CONFLICT (workflow_uuid) DO NOTHING;

    RETURN v_workflow_id;

EXCEPTION
    WHEN unique_violation THEN
        RAISE EXCEPTION 'DBOS queue duplicated'
            USING DETAIL = format('Workflow %s with queue %s and deduplication ID %s already exists', v_workflow_id, queue_name, deduplication_id),
                ERRCODE = 'unique_violation';
END;
$$;



CREATE FUNCTION dbos.send_message(destination_id text, message json, topic text DEFAULT NULL::text, message_id text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_topic TEXT := COALESCE(topic, '__null__topic__');
    v_message_id TEXT := COALESCE(message_id, gen_random_uuid()::TEXT);
BEGIN
    INSERT INTO "dbos".notifications (
        destination_uuid, topic, message, message_uuid, serialization
    ) VALUES (
        destination_id, v_topic, message, v_message_id, 'portable_json'
    )
    ON CONFLICT (message_uuid) DO NOTHING;
EXCEPTION
    WHEN foreign_key_violation THEN
        RAISE EXCEPTION 'DBOS non-existent workflow'
            USING DETAIL = format('Destination workflow %s does not exist', destination_id),
                ERRCODE = 'foreign_key_violation';
END;
$$;


SET default_tablespace = '';

SET default_table_access_method = heap;


CREATE TABLE dbos.application_versions (
    version_id text NOT NULL,
    version_name text NOT NULL,
    version_timestamp bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    created_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    application_name text
);



CREATE TABLE dbos.dbos_migrations (
    version bigint NOT NULL
);



CREATE TABLE dbos.event_dispatch_kv (
    service_name text NOT NULL,
    workflow_fn_name text NOT NULL,
    key text NOT NULL,
    value text,
    update_seq numeric(38,0),
    update_time numeric(38,15)
);



CREATE TABLE dbos.notifications (
    message_uuid text DEFAULT gen_random_uuid() NOT NULL,
    destination_uuid text NOT NULL,
    topic text,
    message text NOT NULL,
    created_at_epoch_ms bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    serialization text,
    consumed boolean DEFAULT false NOT NULL,
    consumed_by_function_id integer
);



CREATE TABLE dbos.operation_outputs (
    workflow_uuid text NOT NULL,
    function_id integer NOT NULL,
    function_name text DEFAULT ''::text NOT NULL,
    output text,
    error text,
    child_workflow_id text,
    started_at_epoch_ms bigint,
    completed_at_epoch_ms bigint,
    serialization text,
    application_name text,
    retention_timestamp bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL
);



CREATE TABLE dbos.queues (
    queue_id text DEFAULT (gen_random_uuid())::text NOT NULL,
    name text NOT NULL,
    concurrency integer,
    worker_concurrency integer,
    rate_limit_max integer,
    rate_limit_period_sec double precision,
    priority_enabled boolean DEFAULT false NOT NULL,
    partition_queue boolean DEFAULT false NOT NULL,
    polling_interval_sec double precision DEFAULT 1.0 NOT NULL,
    created_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    updated_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    application_name text,
    partition_concurrency integer,
    partition_worker_concurrency integer,
    partition_rate_limit_max integer,
    partition_rate_limit_period_sec double precision
);



CREATE TABLE dbos.streams (
    workflow_uuid text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    "offset" integer NOT NULL,
    function_id integer DEFAULT 0 NOT NULL,
    serialization text
);



CREATE TABLE dbos.workflow_events (
    workflow_uuid text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    serialization text
);



CREATE TABLE dbos.workflow_events_history (
    workflow_uuid text NOT NULL,
    function_id integer NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    serialization text
);



CREATE TABLE dbos.workflow_input (
    workflow_uuid text NOT NULL,
    inputs text,
    retention_timestamp bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL
);



CREATE TABLE dbos.workflow_output (
    workflow_uuid text NOT NULL,
    output text,
    error text,
    retention_timestamp bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL
);



CREATE TABLE dbos.workflow_schedules (
    schedule_id text NOT NULL,
    schedule_name text NOT NULL,
    workflow_name text NOT NULL,
    workflow_class_name text,
    schedule text NOT NULL,
    status text DEFAULT 'ACTIVE'::text NOT NULL,
    context text NOT NULL,
    last_fired_at text,
    automatic_backfill boolean DEFAULT false NOT NULL,
    cron_timezone text,
    queue_name text,
    application_name text
);



CREATE TABLE dbos.workflow_status (
    workflow_uuid text NOT NULL,
    status text,
    name text,
    authenticated_user text,
    assumed_role text,
    authenticated_roles text,
    request text,
    output text,
    error text,
    executor_id text,
    created_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    updated_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    application_version text,
    application_id text,
    class_name character varying(255) DEFAULT NULL::character varying,
    config_name character varying(255) DEFAULT NULL::character varying,
    recovery_attempts bigint DEFAULT 0,
    queue_name text,
    workflow_timeout_ms bigint,
    workflow_deadline_epoch_ms bigint,
    inputs text,
    started_at_epoch_ms bigint,
    deduplication_id text,
    priority integer DEFAULT 0 NOT NULL,
    queue_partition_key text,
    forked_from text,
    owner_xid text,
    parent_workflow_id text,
    serialization text,
    delay_until_epoch_ms bigint,
    was_forked_from boolean DEFAULT false NOT NULL,
    rate_limited boolean DEFAULT false NOT NULL,
    completed_at bigint,
    attributes jsonb,
    schedule_name text,
    debounce_deadline_epoch_ms bigint,
    is_debounced boolean DEFAULT false NOT NULL,
    application_name text,
    creator_xid text
);



CREATE TABLE public.api_key_secrets (
    hash text NOT NULL,
    prefix text NOT NULL,
    key_name text NOT NULL,
    created_at text NOT NULL,
    expires_at text
);



CREATE TABLE public.api_keys (
    name text NOT NULL,
    owner text NOT NULL,
    scopes text NOT NULL,
    created_at text NOT NULL,
    expires_at text,
    revoked_at text,
    last_used_at text,
    revision integer NOT NULL,
    cancels_runs boolean
);



CREATE TABLE public.audit_lines (
    number bigint NOT NULL,
    at text NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    text text NOT NULL,
    request text NOT NULL
);



CREATE SEQUENCE public.audit_lines_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;



ALTER SEQUENCE public.audit_lines_number_seq OWNED BY public.audit_lines.number;



CREATE TABLE public.files (
    id text NOT NULL,
    owner text NOT NULL,
    thread_id text,
    agent text NOT NULL,
    name text NOT NULL,
    media_type text NOT NULL,
    content bytea NOT NULL,
    created_at text NOT NULL
);



CREATE TABLE public.interrupts (
    thread_id text NOT NULL,
    id text NOT NULL,
    run_id text NOT NULL,
    owner text NOT NULL,
    agent text NOT NULL,
    interrupt text NOT NULL,
    tool_call text,
    created_at text NOT NULL,
    "position" integer NOT NULL,
    expires_at text,
    answered_at text
);



CREATE TABLE public.limit_counters (
    limit_name text NOT NULL,
    rule text NOT NULL,
    subject text NOT NULL,
    buckets text NOT NULL,
    expires_at double precision NOT NULL,
    warned_until double precision
)
WITH (fillfactor='50');



CREATE TABLE public.limit_holds (
    id text NOT NULL,
    run_id text NOT NULL,
    process_id bigint NOT NULL,
    hold text NOT NULL,
    queue text,
    slot_user text
);



CREATE TABLE public.mcp_pins (
    server text NOT NULL,
    name text NOT NULL,
    definition text NOT NULL,
    new_definition text,
    updated_at text NOT NULL
);



CREATE TABLE public.message_texts (
    thread_id text NOT NULL,
    "position" integer NOT NULL,
    text text NOT NULL
);



CREATE TABLE public.messages (
    thread_id text NOT NULL,
    "position" integer NOT NULL,
    id text NOT NULL,
    message text NOT NULL
);



CREATE TABLE public.processes (
    id bigint NOT NULL,
    expires_at double precision NOT NULL,
    suspect_after double precision,
    backend_pid integer,
    database_started_at double precision
);



CREATE SEQUENCE public.processes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;



ALTER SEQUENCE public.processes_id_seq OWNED BY public.processes.id;



CREATE TABLE public.rightseat_version (
    version_num character varying(32) NOT NULL
);



CREATE TABLE public.runs (
    number bigint NOT NULL,
    id text NOT NULL,
    thread_id text NOT NULL,
    owner text NOT NULL,
    agent text NOT NULL,
    client_run_id text,
    outcome text,
    epoch integer NOT NULL,
    process_id bigint NOT NULL,
    ask text,
    created_at text NOT NULL,
    finished_at text,
    face text,
    error_code text,
    input_tokens bigint,
    output_tokens bigint,
    cache_read_tokens bigint,
    model_calls integer,
    tool_calls integer,
    model_usage text,
    flow text,
    asked_at text,
    stop_requested boolean
);



CREATE SEQUENCE public.runs_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;



ALTER SEQUENCE public.runs_number_seq OWNED BY public.runs.number;



CREATE TABLE public.threads (
    id text NOT NULL,
    owner text NOT NULL,
    agent text NOT NULL,
    name text,
    archived boolean NOT NULL,
    state text,
    active_run_id text,
    created_at text NOT NULL,
    updated_at text NOT NULL
);



CREATE TABLE public.usage (
    day text NOT NULL,
    "user" text NOT NULL,
    key text NOT NULL,
    agent text NOT NULL,
    model text NOT NULL,
    purpose text NOT NULL,
    requests bigint NOT NULL,
    refused bigint NOT NULL,
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    estimated_tokens bigint NOT NULL,
    cost bigint NOT NULL
)
WITH (fillfactor='50');



ALTER TABLE ONLY public.audit_lines ALTER COLUMN number SET DEFAULT nextval('public.audit_lines_number_seq'::regclass);



ALTER TABLE ONLY public.processes ALTER COLUMN id SET DEFAULT nextval('public.processes_id_seq'::regclass);



ALTER TABLE ONLY public.runs ALTER COLUMN number SET DEFAULT nextval('public.runs_number_seq'::regclass);



INSERT INTO dbos.application_versions VALUES ('7a9929eb-0619-4439-8a37-ea806e3a4f57', '1', 1795122329340, 1795122329340, 'rightseat');



INSERT INTO dbos.dbos_migrations VALUES (123);









INSERT INTO dbos.operation_outputs VALUES ('run_c6b432ffcc59ca4a2fb4f7077c640a12', 1, 'answer:0', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_b8fd4964d86a15817114ab09449b9588\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_b8fd4964d86a15817114ab09449b9588\",\"text\":\"You said: “Hello, shop. 你好！” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order.\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_b8fd4964d86a15817114ab09449b9588\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122330985, 1795122331000, 'rightseat_json', 'rightseat', 1795122331005);
INSERT INTO dbos.operation_outputs VALUES ('run_3e42737eae8487c71732ee4604128a34', 1, 'answer:0', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_0c9255331bb5c6fbf580fd0e4d58cc89\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_0c9255331bb5c6fbf580fd0e4d58cc89\",\"text\":\"You said: “And again.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order.\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_0c9255331bb5c6fbf580fd0e4d58cc89\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122332303, 1795122332311, 'rightseat_json', 'rightseat', 1795122332313);
INSERT INTO dbos.operation_outputs VALUES ('run_0f609bbcbd0e559be5b882cca07bcd6c', 1, 'answer:0', '"[{\"type\":\"ToolCallStarted\",\"call_id\":\"call_221253a6dcadfbcd4f45e8a854da5120\",\"name\":\"read_order\",\"message_id\":null},{\"type\":\"ToolCallDelta\",\"call_id\":\"call_221253a6dcadfbcd4f45e8a854da5120\",\"text\":\"{\\\"number\\\": \\\"7\\\"}\"},{\"type\":\"ToolCallEnded\",\"call_id\":\"call_221253a6dcadfbcd4f45e8a854da5120\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"tool_calls\",\"usage\":null}]"', NULL, NULL, 1795122332411, 1795122332425, 'rightseat_json', 'rightseat', 1795122332426);
INSERT INTO dbos.operation_outputs VALUES ('run_0f609bbcbd0e559be5b882cca07bcd6c', 2, 'tool:call_221253a6dcadfbcd4f45e8a854da5120', '"[{\"type\":\"ToolCallReturned\",\"call_id\":\"call_221253a6dcadfbcd4f45e8a854da5120\",\"name\":\"read_order\",\"content\":\"{\\\"order\\\":\\\"7\\\",\\\"state\\\":\\\"paid\\\"}\",\"error\":null,\"message_id\":null}]"', NULL, NULL, 1795122332435, 1795122332440, 'rightseat_json', 'rightseat', 1795122332442);
INSERT INTO dbos.operation_outputs VALUES ('run_0f609bbcbd0e559be5b882cca07bcd6c', 3, 'answer:1', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_c65c3f1313f1f58354b8ed6a0337a080\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_c65c3f1313f1f58354b8ed6a0337a080\",\"text\":\"The tool read_order returned: {\\\"order\\\":\\\"7\\\",\\\"state\\\":\\\"paid\\\"}\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_c65c3f1313f1f58354b8ed6a0337a080\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122332568, 1795122332574, 'rightseat_json', 'rightseat', 1795122332575);
INSERT INTO dbos.operation_outputs VALUES ('run_a3d858a5f80441b8e24d25d3af70de70', 1, 'answer:0', '"[{\"type\":\"ToolCallStarted\",\"call_id\":\"call_0620acd540e4afa190bbee8231054f91\",\"name\":\"cancel_order\",\"message_id\":null},{\"type\":\"ToolCallDelta\",\"call_id\":\"call_0620acd540e4afa190bbee8231054f91\",\"text\":\"{\\\"number\\\": \\\"8\\\"}\"},{\"type\":\"ToolCallEnded\",\"call_id\":\"call_0620acd540e4afa190bbee8231054f91\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"tool_calls\",\"usage\":null}]"', NULL, NULL, 1795122332671, 1795122332678, 'rightseat_json', 'rightseat', 1795122332679);
INSERT INTO dbos.operation_outputs VALUES ('run_625ad8ae646282d9a892c8a7c11fac4f', 1, 'try:call_0620acd540e4afa190bbee8231054f91', '"\"attempt_4fb70a657d2311c72a445a624549a4f2\""', NULL, NULL, 1795122332760, 1795122332770, 'rightseat_json', 'rightseat', 1795122332772);
INSERT INTO dbos.operation_outputs VALUES ('run_625ad8ae646282d9a892c8a7c11fac4f', 2, 'tool:call_0620acd540e4afa190bbee8231054f91', '"[{\"type\":\"ToolCallReturned\",\"call_id\":\"call_0620acd540e4afa190bbee8231054f91\",\"name\":\"cancel_order\",\"content\":\"{\\\"order\\\":\\\"8\\\",\\\"state\\\":\\\"cancelled\\\"}\",\"error\":null,\"message_id\":null}]"', NULL, NULL, 1795122332777, 1795122332781, 'rightseat_json', 'rightseat', 1795122332783);
INSERT INTO dbos.operation_outputs VALUES ('run_625ad8ae646282d9a892c8a7c11fac4f', 3, 'answer:0', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_bac9ebbc07e73265ed93ee0537a1e3af\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_bac9ebbc07e73265ed93ee0537a1e3af\",\"text\":\"The tool cancel_order returned: {\\\"order\\\":\\\"8\\\",\\\"state\\\":\\\"cancelled\\\"}\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_bac9ebbc07e73265ed93ee0537a1e3af\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122332909, 1795122332914, 'rightseat_json', 'rightseat', 1795122332915);
INSERT INTO dbos.operation_outputs VALUES ('run_d65b03c51d573064f26bc10486b0adb2', 1, 'answer:0', '"[{\"type\":\"ToolCallStarted\",\"call_id\":\"call_6fe7755f2611dd7933442e74db0b9b6d\",\"name\":\"cancel_order\",\"message_id\":null},{\"type\":\"ToolCallDelta\",\"call_id\":\"call_6fe7755f2611dd7933442e74db0b9b6d\",\"text\":\"{\\\"number\\\": \\\"9\\\"}\"},{\"type\":\"ToolCallEnded\",\"call_id\":\"call_6fe7755f2611dd7933442e74db0b9b6d\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"tool_calls\",\"usage\":null}]"', NULL, NULL, 1795122332998, 1795122333002, 'rightseat_json', 'rightseat', 1795122333004);
INSERT INTO dbos.operation_outputs VALUES ('run_d466ce0f088454af5c22c018b2d77ee0', 1, 'answer:0', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_5430950ce76e2ef4861830bd7e4b64ff\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_5430950ce76e2ef4861830bd7e4b64ff\",\"text\":\"The tool cancel_order returned: The user denied the call. It was not run.\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_5430950ce76e2ef4861830bd7e4b64ff\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122333367, 1795122333372, 'rightseat_json', 'rightseat', 1795122333377);
INSERT INTO dbos.operation_outputs VALUES ('run_fc4fb9289a44262afc3d896b06ed885e', 1, 'answer:0', '"[{\"type\":\"ToolCallStarted\",\"call_id\":\"call_2801371e7d2590465b6117cfcbea239a\",\"name\":\"cancel_order\",\"message_id\":null},{\"type\":\"ToolCallDelta\",\"call_id\":\"call_2801371e7d2590465b6117cfcbea239a\",\"text\":\"{\\\"number\\\": \\\"10\\\"}\"},{\"type\":\"ToolCallEnded\",\"call_id\":\"call_2801371e7d2590465b6117cfcbea239a\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"tool_calls\",\"usage\":null}]"', NULL, NULL, 1795122333467, 1795122333472, 'rightseat_json', 'rightseat', 1795122333473);
INSERT INTO dbos.operation_outputs VALUES ('run_a84469a27fa4eddc2cfa76945b66a801', 1, 'answer:0', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_b84cff17460d8082d2d2f5c339ea54f3\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_b84cff17460d8082d2d2f5c339ea54f3\",\"text\":\"You said: “Hello for the archive.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order.\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_b84cff17460d8082d2d2f5c339ea54f3\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122336228, 1795122336235, 'rightseat_json', 'rightseat', 1795122336236);
INSERT INTO dbos.operation_outputs VALUES ('run_034c7a949beb2059e084c27a18338dbb', 1, 'answer:0', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_666d76f54506d2af2311b39d64d644b9\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_666d76f54506d2af2311b39d64d644b9\",\"text\":\"You said: “Hello from Bob.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order.\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_666d76f54506d2af2311b39d64d644b9\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122337436, 1795122337442, 'rightseat_json', 'rightseat', 1795122337446);
INSERT INTO dbos.operation_outputs VALUES ('run_0e13d0e1cef4026014d8495c4d574f31', 1, 'answer:0', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_d3bc0313ca55424c6101cd4551eb4d5b\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_d3bc0313ca55424c6101cd4551eb4d5b\",\"text\":\"You said: “Once more.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order.\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_d3bc0313ca55424c6101cd4551eb4d5b\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122338609, 1795122338620, 'rightseat_json', 'rightseat', 1795122338621);



INSERT INTO dbos.queues VALUES ('813542bd-c8ef-45f7-96fd-8d9003dc7b43', 'rightseat', NULL, NULL, NULL, NULL, true, false, 1, 1795122329387, 1795122329382, 'rightseat', NULL, NULL, NULL, NULL);












INSERT INTO dbos.workflow_input VALUES ('run_c6b432ffcc59ca4a2fb4f7077c640a12', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"Hello, shop. 你好！\"}],\"id\":\"question-e3eddb7d\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"hello\",\"run_id\":\"run_c6b432ffcc59ca4a2fb4f7077c640a12\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-f0241a22e670aa9a\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122329841);
INSERT INTO dbos.workflow_input VALUES ('run_3e42737eae8487c71732ee4604128a34', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"And again.\"}],\"id\":\"question-e2afa3f9\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"hello\",\"run_id\":\"run_3e42737eae8487c71732ee4604128a34\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-6d7ea3d9841e0adb\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122331124);
INSERT INTO dbos.workflow_input VALUES ('run_0f609bbcbd0e559be5b882cca07bcd6c', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"read_order 7\"}],\"id\":\"question-1a18a637\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"reading\",\"run_id\":\"run_0f609bbcbd0e559be5b882cca07bcd6c\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-0903f3a615181287\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122332362);
INSERT INTO dbos.workflow_input VALUES ('run_a3d858a5f80441b8e24d25d3af70de70', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"cancel_order 8\"}],\"id\":\"question-75fc8083\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"cancelled\",\"run_id\":\"run_a3d858a5f80441b8e24d25d3af70de70\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-de0b356eea8f5cca\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122332617);
INSERT INTO dbos.workflow_input VALUES ('run_625ad8ae646282d9a892c8a7c11fac4f', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"cancel_order 8\"}],\"id\":\"question-75fc8083\",\"extra\":null},{\"role\":\"assistant\",\"parts\":[{\"type\":\"call\",\"id\":\"call_0620acd540e4afa190bbee8231054f91\",\"name\":\"cancel_order\",\"arguments\":\"{\\\"number\\\": \\\"8\\\"}\"}],\"id\":\"call_0620acd540e4afa190bbee8231054f91\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"cancelled\",\"run_id\":\"run_625ad8ae646282d9a892c8a7c11fac4f\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[{\"interrupt_id\":\"interrupt_797f4e14ce1d6730c07f3b72f372b91d\",\"status\":\"resolved\",\"payload\":{\"approved\":true},\"call\":{\"type\":\"call\",\"id\":\"call_0620acd540e4afa190bbee8231054f91\",\"name\":\"cancel_order\",\"arguments\":\"{\\\"number\\\": \\\"8\\\"}\"},\"memo\":null,\"reason\":\"approval_required\",\"subject\":\"\",\"by\":\"\"}],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":null,\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122332755);
INSERT INTO dbos.workflow_input VALUES ('run_d65b03c51d573064f26bc10486b0adb2', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"cancel_order 9\"}],\"id\":\"question-64127f1b\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"refused\",\"run_id\":\"run_d65b03c51d573064f26bc10486b0adb2\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-f98324dafba97d31\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122332952);
INSERT INTO dbos.workflow_input VALUES ('run_d466ce0f088454af5c22c018b2d77ee0', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"cancel_order 9\"}],\"id\":\"question-64127f1b\",\"extra\":null},{\"role\":\"assistant\",\"parts\":[{\"type\":\"call\",\"id\":\"call_6fe7755f2611dd7933442e74db0b9b6d\",\"name\":\"cancel_order\",\"arguments\":\"{\\\"number\\\": \\\"9\\\"}\"}],\"id\":\"call_6fe7755f2611dd7933442e74db0b9b6d\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"refused\",\"run_id\":\"run_d466ce0f088454af5c22c018b2d77ee0\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[{\"interrupt_id\":\"interrupt_f5ef67e3c75fd39b413078337ad32e23\",\"status\":\"resolved\",\"payload\":{\"approved\":false},\"call\":{\"type\":\"call\",\"id\":\"call_6fe7755f2611dd7933442e74db0b9b6d\",\"name\":\"cancel_order\",\"arguments\":\"{\\\"number\\\": \\\"9\\\"}\"},\"memo\":null,\"reason\":\"approval_required\",\"subject\":\"\",\"by\":\"\"}],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":null,\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122333076);
INSERT INTO dbos.workflow_input VALUES ('run_a84469a27fa4eddc2cfa76945b66a801', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"Hello for the archive.\"}],\"id\":\"question-2045e2e3\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"archived\",\"run_id\":\"run_a84469a27fa4eddc2cfa76945b66a801\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-12d21882be810379\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122335026);
INSERT INTO dbos.workflow_input VALUES ('run_0e13d0e1cef4026014d8495c4d574f31', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"Hello from Bob.\"}],\"id\":\"msg_1116e8e13c405b85d34d1d5be4ce2eb9\",\"extra\":null},{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"text\":\"You said: “Hello from Bob.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order.\"}],\"id\":\"msg_666d76f54506d2af2311b39d64d644b9\",\"extra\":null},{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"Once more.\"}],\"id\":\"msg_d934d47cfda6ad3296afdb2941e66704\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"thread_5d6e6e6028c4a587934c09467df3a1ee\",\"run_id\":\"run_0e13d0e1cef4026014d8495c4d574f31\",\"principal\":{\"id\":\"bob\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"bob\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"openai\",\"client_run_id\":null,\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":false,\"truncate_at\":null}"],"kwargs":{}}', 1795122337509);
INSERT INTO dbos.workflow_input VALUES ('run_fc4fb9289a44262afc3d896b06ed885e', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"cancel_order 10\"}],\"id\":\"question-6feca330\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"waiting\",\"run_id\":\"run_fc4fb9289a44262afc3d896b06ed885e\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-b7f89c3dc38ddee4\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122333415);
INSERT INTO dbos.workflow_input VALUES ('run_034c7a949beb2059e084c27a18338dbb', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"Hello from Bob.\"}],\"id\":\"msg_1116e8e13c405b85d34d1d5be4ce2eb9\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"thread_5d6e6e6028c4a587934c09467df3a1ee\",\"run_id\":\"run_034c7a949beb2059e084c27a18338dbb\",\"principal\":{\"id\":\"bob\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"bob\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"openai\",\"client_run_id\":null,\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":false,\"truncate_at\":null}"],"kwargs":{}}', 1795122336298);
INSERT INTO dbos.workflow_input VALUES ('run_7d79f9bf748df34b03093003390919df', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"Hello, and do not stop.\"}],\"id\":\"question-ec6c4a38\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"long\",\"run_id\":\"run_7d79f9bf748df34b03093003390919df\",\"principal\":{\"id\":\"carol\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"carol\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-11790455884c6722\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122339504);



INSERT INTO dbos.workflow_output VALUES ('run_c6b432ffcc59ca4a2fb4f7077c640a12', 'null', NULL, 1795122331106);
INSERT INTO dbos.workflow_output VALUES ('run_3e42737eae8487c71732ee4604128a34', 'null', NULL, 1795122332363);
INSERT INTO dbos.workflow_output VALUES ('run_0f609bbcbd0e559be5b882cca07bcd6c', 'null', NULL, 1795122332638);
INSERT INTO dbos.workflow_output VALUES ('run_a3d858a5f80441b8e24d25d3af70de70', 'null', NULL, 1795122332723);
INSERT INTO dbos.workflow_output VALUES ('run_625ad8ae646282d9a892c8a7c11fac4f', 'null', NULL, 1795122332963);
INSERT INTO dbos.workflow_output VALUES ('run_d65b03c51d573064f26bc10486b0adb2', 'null', NULL, 1795122333046);
INSERT INTO dbos.workflow_output VALUES ('run_d466ce0f088454af5c22c018b2d77ee0', 'null', NULL, 1795122333425);
INSERT INTO dbos.workflow_output VALUES ('run_fc4fb9289a44262afc3d896b06ed885e', 'null', NULL, 1795122333534);
INSERT INTO dbos.workflow_output VALUES ('run_a84469a27fa4eddc2cfa76945b66a801', 'null', NULL, 1795122336289);
INSERT INTO dbos.workflow_output VALUES ('run_034c7a949beb2059e084c27a18338dbb', 'null', NULL, 1795122337496);
INSERT INTO dbos.workflow_output VALUES ('run_0e13d0e1cef4026014d8495c4d574f31', 'null', NULL, 1795122338682);






INSERT INTO dbos.workflow_status VALUES ('run_c6b432ffcc59ca4a2fb4f7077c640a12', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, 'd76f52b689a5a250', 1795122329841, 1795122331106, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122331106, 'null', NULL, NULL, false, 'rightseat', 'fbac4554-56ff-40cb-b34e-2589c62c98bf');
INSERT INTO dbos.workflow_status VALUES ('run_3e42737eae8487c71732ee4604128a34', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, 'd76f52b689a5a250', 1795122331124, 1795122332363, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122332363, 'null', NULL, NULL, false, 'rightseat', 'f8923d71-8c73-4296-b5d1-5e33b8897751');
INSERT INTO dbos.workflow_status VALUES ('run_0f609bbcbd0e559be5b882cca07bcd6c', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, 'd76f52b689a5a250', 1795122332362, 1795122332638, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122332638, 'null', NULL, NULL, false, 'rightseat', '51973eca-3830-4be1-a079-7ea21bc8774d');
INSERT INTO dbos.workflow_status VALUES ('run_a3d858a5f80441b8e24d25d3af70de70', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, 'd76f52b689a5a250', 1795122332617, 1795122332723, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122332723, 'null', NULL, NULL, false, 'rightseat', 'be1956e9-8f26-485e-9374-950013b0c942');
INSERT INTO dbos.workflow_status VALUES ('run_625ad8ae646282d9a892c8a7c11fac4f', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, 'd76f52b689a5a250', 1795122332755, 1795122332963, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122332963, 'null', NULL, NULL, false, 'rightseat', '700f01ed-3c87-4bb9-8b15-cbaf7281653a');
INSERT INTO dbos.workflow_status VALUES ('run_d65b03c51d573064f26bc10486b0adb2', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, 'd76f52b689a5a250', 1795122332952, 1795122333046, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122333046, 'null', NULL, NULL, false, 'rightseat', 'e29d2eef-3464-43df-af5a-f7bd48143ba2');
INSERT INTO dbos.workflow_status VALUES ('run_d466ce0f088454af5c22c018b2d77ee0', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, 'd76f52b689a5a250', 1795122333076, 1795122333425, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122333425, 'null', NULL, NULL, false, 'rightseat', 'a8c0322e-73c4-4af0-986e-2d6b8315a109');
INSERT INTO dbos.workflow_status VALUES ('run_fc4fb9289a44262afc3d896b06ed885e', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, 'd76f52b689a5a250', 1795122333415, 1795122333534, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122333534, 'null', NULL, NULL, false, 'rightseat', '928c87f8-4740-4c13-a54e-3d8d3504826a');
INSERT INTO dbos.workflow_status VALUES ('run_a84469a27fa4eddc2cfa76945b66a801', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, 'd76f52b689a5a250', 1795122335026, 1795122336289, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122336289, 'null', NULL, NULL, false, 'rightseat', '9b6ba4a5-698b-47e3-80e8-4c1cea3b7de3');
INSERT INTO dbos.workflow_status VALUES ('run_034c7a949beb2059e084c27a18338dbb', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, 'd76f52b689a5a250', 1795122336298, 1795122337496, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122337496, 'null', NULL, NULL, false, 'rightseat', '5b3f440d-255c-40ad-bbdb-788448786da0');
INSERT INTO dbos.workflow_status VALUES ('run_0e13d0e1cef4026014d8495c4d574f31', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, 'd76f52b689a5a250', 1795122337509, 1795122338682, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122338682, 'null', NULL, NULL, false, 'rightseat', '352984f5-0b87-4790-93d0-64720d0257a8');
INSERT INTO dbos.workflow_status VALUES ('run_7d79f9bf748df34b03093003390919df', 'PENDING', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, 'd76f52b689a5a250', 1795122339504, 1795122339504, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, 'e62e32d6-afc5-4029-b10f-f36d06d2c4aa', NULL, 'rightseat_json', NULL, false, false, NULL, 'null', NULL, NULL, false, 'rightseat', 'e62e32d6-afc5-4029-b10f-f36d06d2c4aa');



INSERT INTO public.api_key_secrets VALUES ('eb63fc3ca0b50015357c922d877f79ebe54e86123af53e39f5798f311e03f49f', 'WNrqgqEQ', 'alice', '2026-11-19T21:05:10.676241Z', NULL);
INSERT INTO public.api_key_secrets VALUES ('790cb821b94637485e380ce34619b4500473841e51a55ca6d6c1ae94077795a4', 'SVGhxkxD', 'bob', '2026-11-19T21:05:14.136630Z', NULL);
INSERT INTO public.api_key_secrets VALUES ('7e57023e0bc5df9ffa2895f5f548786f9214c8754c7744bc4f28b1835fbdff41', 'dQ2YlkSH', 'carol', '2026-11-19T21:05:18.133410Z', NULL);
INSERT INTO public.api_key_secrets VALUES ('9fadd559b9d04713e588dfc2bf65fc8168bc55859630bbf65e399baa1218d3c6', 'Y2TJCFyE', 'gone', '2026-11-19T21:05:21.953323Z', NULL);



INSERT INTO public.api_keys VALUES ('alice', 'alice', '["*"]', '2026-11-19T21:05:10.309635Z', NULL, NULL, NULL, 1, false);
INSERT INTO public.api_keys VALUES ('bob', 'bob', '["*"]', '2026-11-19T21:05:13.998794Z', NULL, NULL, NULL, 1, false);
INSERT INTO public.api_keys VALUES ('carol', 'carol', '["*"]', '2026-11-19T21:05:18.038815Z', NULL, NULL, NULL, 1, false);
INSERT INTO public.api_keys VALUES ('gone', 'gone', '["*"]', '2026-11-19T21:05:21.825035Z', NULL, '2026-11-19T21:05:25.404230Z', NULL, 2, false);



INSERT INTO public.audit_lines VALUES (1, '2026-11-19T21:05:10.678Z', 'key_change', '', 'command line: created the key alice', '');
INSERT INTO public.audit_lines VALUES (2, '2026-11-19T21:05:14.141Z', 'key_change', '', 'command line: created the key bob', '');
INSERT INTO public.audit_lines VALUES (3, '2026-11-19T21:05:18.136Z', 'key_change', '', 'command line: created the key carol', '');
INSERT INTO public.audit_lines VALUES (4, '2026-11-19T21:05:21.962Z', 'key_change', '', 'command line: created the key gone', '');
INSERT INTO public.audit_lines VALUES (5, '2026-11-19T21:05:25.408Z', 'key_change', '', 'command line: revoked the key gone', '');
INSERT INTO public.audit_lines VALUES (6, '2026-11-19T21:05:29.806Z', 'key_use', 'alice', 'copilotkit was used with the key ''alice''', 'req_ede16306589babe44612263582d666a7');
INSERT INTO public.audit_lines VALUES (7, '2026-11-19T21:05:32.756Z', 'approval', 'alice', 'approval: user=''alice'' agent=''default'' tool=''cancel_order'' interrupt=''interrupt_797f4e14ce1d6730c07f3b72f372b91d'' decision=allow', 'req_ddcff6eac2033d8e90414c4d9f0abfb7');
INSERT INTO public.audit_lines VALUES (8, '2026-11-19T21:05:33.078Z', 'approval', 'alice', 'approval: user=''alice'' agent=''default'' tool=''cancel_order'' interrupt=''interrupt_f5ef67e3c75fd39b413078337ad32e23'' decision=deny', 'req_91a33fa8c0c2a89fea49d99ea9e4f094');
INSERT INTO public.audit_lines VALUES (9, '2026-11-19T21:05:36.277Z', 'key_use', 'bob', 'openai was used with the key ''bob''', 'req_97c056f10e9e38628fb4bf5cf28a85f9');
INSERT INTO public.audit_lines VALUES (10, '2026-11-19T21:05:38.729Z', 'key_use', 'key:support', 'operator was used with the key ''support''', 'req_c5d4e88f3c9f2a82f897642cabfaf577');



INSERT INTO public.files VALUES ('file_06129e7626d293a91909e9e6c6b2a1c1', 'alice', 'totals', 'reports', 'Totals by month', 'application/vnd.echarts+json', '\x7b22636f6c6f72223a5b2223333336366363222c2223653437363162222c2223326539653562222c2223633033393262222c2223376435626136222c2223306639616138222c2223623838363062222c2223643636303961222c2223356436643765222c2223386262313166225d2c227469746c65223a7b2274657874223a22546f74616c73206279206d6f6e7468227d2c22746f6f6c746970223a7b2274726967676572223a2261786973222c2272656e6465724d6f6465223a227269636854657874227d2c226c6567656e64223a7b2273686f77223a66616c73652c2274797065223a227363726f6c6c222c22746f70223a32387d2c2264617461736574223a7b2264696d656e73696f6e73223a5b226d6f6e7468222c22746f74616c225d2c22736f75726365223a5b7b226d6f6e7468223a22323032362d3031222c22746f74616c223a313230307d2c7b226d6f6e7468223a22323032362d3032222c22746f74616c223a3935307d5d7d2c2267726964223a7b22636f6e7461696e4c6162656c223a747275652c22746f70223a36347d2c227841786973223a7b2274797065223a2263617465676f7279222c226e616d65223a226d6f6e7468222c226e616d654c6f636174696f6e223a226d6964646c65222c226e616d65476170223a33327d2c227941786973223a7b2274797065223a2276616c7565222c226e616d65223a22746f74616c227d2c22736572696573223a5b7b2274797065223a22626172222c226e616d65223a22746f74616c222c22656e636f6465223a7b2278223a226d6f6e7468222c2279223a22746f74616c227d7d5d7d', '2026-11-19T21:05:33.722212Z');
INSERT INTO public.files VALUES ('resp_034c7a949beb2059e084c27a18338dbb', 'bob', 'thread_5d6e6e6028c4a587934c09467df3a1ee', 'default', 'resp_034c7a949beb2059e084c27a18338dbb', 'application/vnd.rightseat.private', '\x7b226964223a22726573705f3033346337613934396265623230353965303834633237613138333338646262222c226d6f64656c223a2264656661756c74222c227468726561645f6964223a227468726561645f3564366536653630323863346135383739333463303934363764663361316565222c22637265617465645f6174223a313739353132323333362c2274657874223a7b22666f726d6174223a7b2274797065223a2274657874227d7d2c22696e707574223a5b7b2274797065223a226d657373616765222c22726f6c65223a2275736572222c22737461747573223a22636f6d706c65746564222c22636f6e74656e74223a5b7b2274797065223a22696e7075745f74657874222c2274657874223a2248656c6c6f2066726f6d20426f622e227d5d2c226964223a226d73675f30333463376139343962656232303539653038346332376131383333386462625f6930227d5d7d', '2026-11-19T21:05:36.293777Z');
INSERT INTO public.files VALUES ('resp_0e13d0e1cef4026014d8495c4d574f31', 'bob', 'thread_5d6e6e6028c4a587934c09467df3a1ee', 'default', 'resp_0e13d0e1cef4026014d8495c4d574f31', 'application/vnd.rightseat.private', '\x7b226964223a22726573705f3065313364306531636566343032363031346438343935633464353734663331222c226d6f64656c223a2264656661756c74222c227468726561645f6964223a227468726561645f3564366536653630323863346135383739333463303934363764663361316565222c227374617274223a322c22637265617465645f6174223a313739353132323333372c2270726576696f75735f726573706f6e73655f6964223a22726573705f3033346337613934396265623230353965303834633237613138333338646262222c2274657874223a7b22666f726d6174223a7b2274797065223a2274657874227d7d2c22696e707574223a5b7b2274797065223a226d657373616765222c22726f6c65223a2275736572222c22737461747573223a22636f6d706c65746564222c22636f6e74656e74223a5b7b2274797065223a22696e7075745f74657874222c2274657874223a224f6e6365206d6f72652e227d5d2c226964223a226d73675f30653133643065316365663430323630313464383439356334643537346633315f6930227d5d7d', '2026-11-19T21:05:37.505456Z');



INSERT INTO public.interrupts VALUES ('cancelled', 'interrupt_797f4e14ce1d6730c07f3b72f372b91d', 'run_a3d858a5f80441b8e24d25d3af70de70', 'alice', 'default', '{"id":"interrupt_797f4e14ce1d6730c07f3b72f372b91d","reason":"approval_required","message":"May cancel_order be run?","call_id":"call_0620acd540e4afa190bbee8231054f91"}', '{"type":"call","id":"call_0620acd540e4afa190bbee8231054f91","name":"cancel_order","arguments":"{\"number\": \"8\"}"}', '2026-11-19T21:05:32.718490Z', 0, NULL, '2026-11-19T21:05:32.953524Z');
INSERT INTO public.interrupts VALUES ('refused', 'interrupt_f5ef67e3c75fd39b413078337ad32e23', 'run_d65b03c51d573064f26bc10486b0adb2', 'alice', 'default', '{"id":"interrupt_f5ef67e3c75fd39b413078337ad32e23","reason":"approval_required","message":"May cancel_order be run?","call_id":"call_6fe7755f2611dd7933442e74db0b9b6d"}', '{"type":"call","id":"call_6fe7755f2611dd7933442e74db0b9b6d","name":"cancel_order","arguments":"{\"number\": \"9\"}"}', '2026-11-19T21:05:33.043071Z', 0, NULL, '2026-11-19T21:05:33.415381Z');
INSERT INTO public.interrupts VALUES ('waiting', 'interrupt_d242ce18da2999b03394f648e6777bf8', 'run_fc4fb9289a44262afc3d896b06ed885e', 'alice', 'default', '{"id":"interrupt_d242ce18da2999b03394f648e6777bf8","reason":"approval_required","message":"May cancel_order be run?","call_id":"call_2801371e7d2590465b6117cfcbea239a"}', '{"type":"call","id":"call_2801371e7d2590465b6117cfcbea239a","name":"cancel_order","arguments":"{\"number\": \"10\"}"}', '2026-11-19T21:05:33.529202Z', 0, NULL, NULL);



INSERT INTO public.limit_counters VALUES ('days', 'requests/day', 'alice', '{"1795046400":[10,0]}', 1795219200, NULL);
INSERT INTO public.limit_counters VALUES ('days', 'tokens/month', 'alice', '{"1793491200":[1851,0]}', 1796169600, NULL);
INSERT INTO public.limit_counters VALUES ('days', 'requests/day', 'bob', '{"1795046400":[2,0]}', 1795219200, NULL);
INSERT INTO public.limit_counters VALUES ('days', 'tokens/month', 'bob', '{"1793491200":[472,0]}', 1796169600, NULL);
INSERT INTO public.limit_counters VALUES ('spent', 'cost/month', 'everyone', '{"1793491200":[617100,2478900]}', 1796169600, NULL);
INSERT INTO public.limit_counters VALUES ('days', 'requests/day', 'carol', '{"1795046400":[1,0]}', 1795219200, NULL);
INSERT INTO public.limit_counters VALUES ('days', 'tokens/month', 'carol', '{"1793491200":[0,4238]}', 1796169600, NULL);



INSERT INTO public.limit_holds VALUES ('hold_3918264cd2ebd930b77299c273a5bc58', 'run_7d79f9bf748df34b03093003390919df', 1601509771941584188, '{"id":"hold_3918264cd2ebd930b77299c273a5bc58","run_id":"run_7d79f9bf748df34b03093003390919df","amounts":[[["days","tokens/month","carol"],"tokens",1793491200,4238],[["spent","cost/month","everyone"],"cost",1793491200,2478900]],"usage":["carol","carol","default","default","answer"],"estimate":{"requests":1,"estimated_tokens":107,"cost":16050}}', NULL, NULL);






INSERT INTO public.message_texts VALUES ('hello', 0, 'hello, shop. 你好!');
INSERT INTO public.message_texts VALUES ('hello', 1, 'you said: “hello, shop. 你好!” i am the built-in demo model: i stream text and call tools, but i do not understand language. for real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set openai_api_key and use no file. name a tool in your question and i call it: read_order, cancel_order.');
INSERT INTO public.message_texts VALUES ('hello', 2, 'and again.');
INSERT INTO public.message_texts VALUES ('hello', 3, 'you said: “and again.” i am the built-in demo model: i stream text and call tools, but i do not understand language. for real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set openai_api_key and use no file. name a tool in your question and i call it: read_order, cancel_order.');
INSERT INTO public.message_texts VALUES ('reading', 0, 'read_order 7');
INSERT INTO public.message_texts VALUES ('reading', 3, 'the tool read_order returned: {"order":"7","state":"paid"}');
INSERT INTO public.message_texts VALUES ('cancelled', 0, 'cancel_order 8');
INSERT INTO public.message_texts VALUES ('cancelled', 3, 'the tool cancel_order returned: {"order":"8","state":"cancelled"}');
INSERT INTO public.message_texts VALUES ('refused', 0, 'cancel_order 9');
INSERT INTO public.message_texts VALUES ('refused', 3, 'the tool cancel_order returned: the user denied the call. it was not run.');
INSERT INTO public.message_texts VALUES ('waiting', 0, 'cancel_order 10');
INSERT INTO public.message_texts VALUES ('totals', 0, 'the totals of the orders');
INSERT INTO public.message_texts VALUES ('totals', 1, 'you said: “the totals of the orders

data:
<data source="step:start">[{"month":"2026-01","total":1200},{"month":"2026-02","total":950}]</data>

what happened:
start (lib.order_totals):
draw (render): a bar chart: totals by month.
end (none):” i am the built-in demo model: i stream text and call tools, but i do not understand language. for real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set openai_api_key and use no file.');
INSERT INTO public.message_texts VALUES ('archived', 0, 'hello for the archive.');
INSERT INTO public.message_texts VALUES ('archived', 1, 'you said: “hello for the archive.” i am the built-in demo model: i stream text and call tools, but i do not understand language. for real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set openai_api_key and use no file. name a tool in your question and i call it: read_order, cancel_order.');
INSERT INTO public.message_texts VALUES ('thread_5d6e6e6028c4a587934c09467df3a1ee', 0, 'hello from bob.');
INSERT INTO public.message_texts VALUES ('thread_5d6e6e6028c4a587934c09467df3a1ee', 1, 'you said: “hello from bob.” i am the built-in demo model: i stream text and call tools, but i do not understand language. for real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set openai_api_key and use no file. name a tool in your question and i call it: read_order, cancel_order.');
INSERT INTO public.message_texts VALUES ('thread_5d6e6e6028c4a587934c09467df3a1ee', 2, 'once more.');
INSERT INTO public.message_texts VALUES ('thread_5d6e6e6028c4a587934c09467df3a1ee', 3, 'you said: “once more.” i am the built-in demo model: i stream text and call tools, but i do not understand language. for real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set openai_api_key and use no file. name a tool in your question and i call it: read_order, cancel_order.');



INSERT INTO public.messages VALUES ('hello', 0, 'question-e3eddb7d', '{"role":"user","parts":[{"type":"text","text":"Hello, shop. 你好！"}],"id":"question-e3eddb7d","extra":null}');
INSERT INTO public.messages VALUES ('hello', 1, 'msg_b8fd4964d86a15817114ab09449b9588', '{"role":"assistant","parts":[{"type":"text","text":"You said: “Hello, shop. 你好！” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order."}],"id":"msg_b8fd4964d86a15817114ab09449b9588","extra":null}');
INSERT INTO public.messages VALUES ('hello', 2, 'question-e2afa3f9', '{"role":"user","parts":[{"type":"text","text":"And again."}],"id":"question-e2afa3f9","extra":null}');
INSERT INTO public.messages VALUES ('hello', 3, 'msg_0c9255331bb5c6fbf580fd0e4d58cc89', '{"role":"assistant","parts":[{"type":"text","text":"You said: “And again.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order."}],"id":"msg_0c9255331bb5c6fbf580fd0e4d58cc89","extra":null}');
INSERT INTO public.messages VALUES ('reading', 0, 'question-1a18a637', '{"role":"user","parts":[{"type":"text","text":"read_order 7"}],"id":"question-1a18a637","extra":null}');
INSERT INTO public.messages VALUES ('reading', 1, 'call_221253a6dcadfbcd4f45e8a854da5120', '{"role":"assistant","parts":[{"type":"call","id":"call_221253a6dcadfbcd4f45e8a854da5120","name":"read_order","arguments":"{\"number\": \"7\"}"}],"id":"call_221253a6dcadfbcd4f45e8a854da5120","extra":null}');
INSERT INTO public.messages VALUES ('reading', 2, 'result-call_221253a6dcadfbcd4f45e8a854da5120', '{"role":"tool","parts":[{"type":"result","call_id":"call_221253a6dcadfbcd4f45e8a854da5120","name":"read_order","content":"{\"order\":\"7\",\"state\":\"paid\"}","error":null}],"id":"result-call_221253a6dcadfbcd4f45e8a854da5120","extra":null}');
INSERT INTO public.messages VALUES ('reading', 3, 'msg_c65c3f1313f1f58354b8ed6a0337a080', '{"role":"assistant","parts":[{"type":"text","text":"The tool read_order returned: {\"order\":\"7\",\"state\":\"paid\"}"}],"id":"msg_c65c3f1313f1f58354b8ed6a0337a080","extra":null}');
INSERT INTO public.messages VALUES ('cancelled', 0, 'question-75fc8083', '{"role":"user","parts":[{"type":"text","text":"cancel_order 8"}],"id":"question-75fc8083","extra":null}');
INSERT INTO public.messages VALUES ('cancelled', 1, 'call_0620acd540e4afa190bbee8231054f91', '{"role":"assistant","parts":[{"type":"call","id":"call_0620acd540e4afa190bbee8231054f91","name":"cancel_order","arguments":"{\"number\": \"8\"}"}],"id":"call_0620acd540e4afa190bbee8231054f91","extra":null}');
INSERT INTO public.messages VALUES ('cancelled', 2, 'result-call_0620acd540e4afa190bbee8231054f91', '{"role":"tool","parts":[{"type":"result","call_id":"call_0620acd540e4afa190bbee8231054f91","name":"cancel_order","content":"{\"order\":\"8\",\"state\":\"cancelled\"}","error":null}],"id":"result-call_0620acd540e4afa190bbee8231054f91","extra":null}');
INSERT INTO public.messages VALUES ('cancelled', 3, 'msg_bac9ebbc07e73265ed93ee0537a1e3af', '{"role":"assistant","parts":[{"type":"text","text":"The tool cancel_order returned: {\"order\":\"8\",\"state\":\"cancelled\"}"}],"id":"msg_bac9ebbc07e73265ed93ee0537a1e3af","extra":null}');
INSERT INTO public.messages VALUES ('refused', 0, 'question-64127f1b', '{"role":"user","parts":[{"type":"text","text":"cancel_order 9"}],"id":"question-64127f1b","extra":null}');
INSERT INTO public.messages VALUES ('refused', 1, 'call_6fe7755f2611dd7933442e74db0b9b6d', '{"role":"assistant","parts":[{"type":"call","id":"call_6fe7755f2611dd7933442e74db0b9b6d","name":"cancel_order","arguments":"{\"number\": \"9\"}"}],"id":"call_6fe7755f2611dd7933442e74db0b9b6d","extra":null}');
INSERT INTO public.messages VALUES ('refused', 2, 'result-call_6fe7755f2611dd7933442e74db0b9b6d', '{"role":"tool","parts":[{"type":"result","call_id":"call_6fe7755f2611dd7933442e74db0b9b6d","name":"cancel_order","content":"The user denied the call. It was not run.","error":"refused"}],"id":"result-call_6fe7755f2611dd7933442e74db0b9b6d","extra":null}');
INSERT INTO public.messages VALUES ('refused', 3, 'msg_5430950ce76e2ef4861830bd7e4b64ff', '{"role":"assistant","parts":[{"type":"text","text":"The tool cancel_order returned: The user denied the call. It was not run."}],"id":"msg_5430950ce76e2ef4861830bd7e4b64ff","extra":null}');
INSERT INTO public.messages VALUES ('waiting', 0, 'question-6feca330', '{"role":"user","parts":[{"type":"text","text":"cancel_order 10"}],"id":"question-6feca330","extra":null}');
INSERT INTO public.messages VALUES ('waiting', 1, 'call_2801371e7d2590465b6117cfcbea239a', '{"role":"assistant","parts":[{"type":"call","id":"call_2801371e7d2590465b6117cfcbea239a","name":"cancel_order","arguments":"{\"number\": \"10\"}"}],"id":"call_2801371e7d2590465b6117cfcbea239a","extra":null}');
INSERT INTO public.messages VALUES ('totals', 0, 'question-dd835de9', '{"role":"user","parts":[{"type":"text","text":"The totals of the orders"}],"id":"question-dd835de9","extra":null}');
INSERT INTO public.messages VALUES ('totals', 1, 'msg_6f9308e5f81733523caf2d7bc89a67b3', '{"role":"assistant","parts":[{"type":"text","text":"You said: “The totals of the orders\n\nData:\n<data source=\"step:start\">[{\"month\":\"2026-01\",\"total\":1200},{\"month\":\"2026-02\",\"total\":950}]</data>\n\nWhat happened:\nstart (lib.order_totals):\ndraw (render): A bar chart: Totals by month.\nend (none):” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file."}],"id":"msg_6f9308e5f81733523caf2d7bc89a67b3","extra":null}');
INSERT INTO public.messages VALUES ('archived', 0, 'question-2045e2e3', '{"role":"user","parts":[{"type":"text","text":"Hello for the archive."}],"id":"question-2045e2e3","extra":null}');
INSERT INTO public.messages VALUES ('archived', 1, 'msg_b84cff17460d8082d2d2f5c339ea54f3', '{"role":"assistant","parts":[{"type":"text","text":"You said: “Hello for the archive.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order."}],"id":"msg_b84cff17460d8082d2d2f5c339ea54f3","extra":null}');
INSERT INTO public.messages VALUES ('thread_5d6e6e6028c4a587934c09467df3a1ee', 0, 'msg_1116e8e13c405b85d34d1d5be4ce2eb9', '{"role":"user","parts":[{"type":"text","text":"Hello from Bob."}],"id":"msg_1116e8e13c405b85d34d1d5be4ce2eb9","extra":null}');
INSERT INTO public.messages VALUES ('thread_5d6e6e6028c4a587934c09467df3a1ee', 1, 'msg_666d76f54506d2af2311b39d64d644b9', '{"role":"assistant","parts":[{"type":"text","text":"You said: “Hello from Bob.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order."}],"id":"msg_666d76f54506d2af2311b39d64d644b9","extra":null}');
INSERT INTO public.messages VALUES ('thread_5d6e6e6028c4a587934c09467df3a1ee', 2, 'msg_d934d47cfda6ad3296afdb2941e66704', '{"role":"user","parts":[{"type":"text","text":"Once more."}],"id":"msg_d934d47cfda6ad3296afdb2941e66704","extra":null}');
INSERT INTO public.messages VALUES ('thread_5d6e6e6028c4a587934c09467df3a1ee', 3, 'msg_d3bc0313ca55424c6101cd4551eb4d5b', '{"role":"assistant","parts":[{"type":"text","text":"You said: “Once more.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order."}],"id":"msg_d3bc0313ca55424c6101cd4551eb4d5b","extra":null}');



INSERT INTO public.processes VALUES (1601509771941584188, 1795122341.534111, 1795122340.534111, 21316, 1795120784.973814);



INSERT INTO public.rightseat_version VALUES ('0013');



INSERT INTO public.runs VALUES (1, 'run_c6b432ffcc59ca4a2fb4f7077c640a12', 'hello', 'alice', 'default', 'run-f0241a22e670aa9a', 'done', 1, 1601509771941584188, NULL, '2026-11-19T21:05:29.829659Z', '2026-11-19T21:05:31.073233Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (2, 'run_3e42737eae8487c71732ee4604128a34', 'hello', 'alice', 'default', 'run-6d7ea3d9841e0adb', 'done', 2, 1601509771941584188, NULL, '2026-11-19T21:05:31.112273Z', '2026-11-19T21:05:32.352702Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (3, 'run_0f609bbcbd0e559be5b882cca07bcd6c', 'reading', 'alice', 'default', 'run-0903f3a615181287', 'done', 1, 1601509771941584188, NULL, '2026-11-19T21:05:32.356615Z', '2026-11-19T21:05:32.617390Z', 'copilotkit', NULL, NULL, NULL, NULL, 2, 1, '[{"name":"default","calls":2,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (4, 'run_a3d858a5f80441b8e24d25d3af70de70', 'cancelled', 'alice', 'default', 'run-de0b356eea8f5cca', 'waiting', 1, 1601509771941584188, NULL, '2026-11-19T21:05:32.607605Z', '2026-11-19T21:05:32.714292Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (5, 'run_625ad8ae646282d9a892c8a7c11fac4f', 'cancelled', 'alice', 'default', NULL, 'done', 2, 1601509771941584188, NULL, '2026-11-19T21:05:32.751042Z', '2026-11-19T21:05:32.953524Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 1, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, '2026-11-19T21:05:32.714292Z', NULL);
INSERT INTO public.runs VALUES (7, 'run_d466ce0f088454af5c22c018b2d77ee0', 'refused', 'alice', 'default', NULL, 'done', 2, 1601509771941584188, NULL, '2026-11-19T21:05:33.072293Z', '2026-11-19T21:05:33.415381Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, '2026-11-19T21:05:33.039711Z', NULL);
INSERT INTO public.runs VALUES (8, 'run_fc4fb9289a44262afc3d896b06ed885e', 'waiting', 'alice', 'default', 'run-b7f89c3dc38ddee4', 'waiting', 1, 1601509771941584188, NULL, '2026-11-19T21:05:33.410950Z', '2026-11-19T21:05:33.509738Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (9, 'run_4829de262616b0445d6daafb0e5d1c1c', 'totals', 'alice', 'reports', 'run-0320efececa214e3', 'done', 1, 1601509771941584188, NULL, '2026-11-19T21:05:33.504878Z', '2026-11-19T21:05:34.997826Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', 'orders.totals', NULL, NULL);
INSERT INTO public.runs VALUES (11, 'run_034c7a949beb2059e084c27a18338dbb', 'thread_5d6e6e6028c4a587934c09467df3a1ee', 'bob', 'default', NULL, 'done', 1, 1601509771941584188, NULL, '2026-11-19T21:05:36.293173Z', '2026-11-19T21:05:37.485337Z', 'openai', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (12, 'run_0e13d0e1cef4026014d8495c4d574f31', 'thread_5d6e6e6028c4a587934c09467df3a1ee', 'bob', 'default', NULL, 'done', 2, 1601509771941584188, NULL, '2026-11-19T21:05:37.504302Z', '2026-11-19T21:05:38.664575Z', 'openai', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (13, 'run_7d79f9bf748df34b03093003390919df', 'long', 'carol', 'default', 'run-11790455884c6722', NULL, 1, 1601509771941584188, '{"messages":[{"role":"user","parts":[{"type":"text","text":"Hello, and do not stop."}],"id":"question-ec6c4a38","extra":null}],"agent":"default","thread_id":"long","run_id":"run_7d79f9bf748df34b03093003390919df","principal":{"id":"carol","agents":null},"tools":[],"parameters":{"model":null,"temperature":null,"max_tokens":null,"stop":null,"tool_choice":null,"parallel_calls":null,"response_schema":null,"response_strict":null,"response_name":null,"top_p":null,"seed":null,"presence_penalty":null,"frequency_penalty":null,"logprobs":null},"context":[],"state":null,"properties":{},"headers":{},"config":{},"answers":[],"topics":null,"caller":{"key":"carol","address":"127.0.0.1"},"purpose":"answer","downgrade":null,"face":"copilotkit","client_run_id":"run-11790455884c6722","node":null,"max_turns":null,"final_answer_without_tools":false,"transient":false,"interactive":false,"durable":true,"when_busy":"refuse","supports_suggestions":true,"truncate_at":null}', '2026-11-19T21:05:39.497653Z', NULL, 'copilotkit', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.runs VALUES (6, 'run_d65b03c51d573064f26bc10486b0adb2', 'refused', 'alice', 'default', 'run-f98324dafba97d31', 'waiting', 1, 1601509771941584188, NULL, '2026-11-19T21:05:32.947657Z', '2026-11-19T21:05:33.039711Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (10, 'run_a84469a27fa4eddc2cfa76945b66a801', 'archived', 'alice', 'default', 'run-12d21882be810379', 'done', 1, 1601509771941584188, NULL, '2026-11-19T21:05:35.019764Z', '2026-11-19T21:05:36.280524Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);



INSERT INTO public.threads VALUES ('hello', 'alice', 'default', 'A greeting', false, NULL, NULL, '2026-11-19T21:05:29.826900Z', '2026-11-19T21:05:32.352702Z');
INSERT INTO public.threads VALUES ('reading', 'alice', 'default', 'read_order 7', false, NULL, NULL, '2026-11-19T21:05:32.356145Z', '2026-11-19T21:05:32.617390Z');
INSERT INTO public.threads VALUES ('cancelled', 'alice', 'default', 'cancel_order 8', false, NULL, NULL, '2026-11-19T21:05:32.607148Z', '2026-11-19T21:05:32.953524Z');
INSERT INTO public.threads VALUES ('refused', 'alice', 'default', 'cancel_order 9', false, NULL, NULL, '2026-11-19T21:05:32.946975Z', '2026-11-19T21:05:33.415381Z');
INSERT INTO public.threads VALUES ('waiting', 'alice', 'default', 'cancel_order 10', false, NULL, NULL, '2026-11-19T21:05:33.410553Z', '2026-11-19T21:05:33.509738Z');
INSERT INTO public.threads VALUES ('totals', 'alice', 'reports', 'The totals of the orders', false, NULL, NULL, '2026-11-19T21:05:33.504203Z', '2026-11-19T21:05:34.997826Z');
INSERT INTO public.threads VALUES ('archived', 'alice', 'default', 'Hello for the archive.', true, NULL, NULL, '2026-11-19T21:05:35.019311Z', '2026-11-19T21:05:36.280524Z');
INSERT INTO public.threads VALUES ('thread_5d6e6e6028c4a587934c09467df3a1ee', 'bob', 'default', 'Hello from Bob.', false, NULL, NULL, '2026-11-19T21:05:36.290744Z', '2026-11-19T21:05:38.664575Z');
INSERT INTO public.threads VALUES ('long', 'carol', 'default', 'Hello, and do not stop.', false, NULL, 'run_7d79f9bf748df34b03093003390919df', '2026-11-19T21:05:39.497226Z', '2026-11-19T21:05:39.497226Z');



INSERT INTO public.usage VALUES ('2026-11-19', 'alice', 'alice', 'reports', 'default', 'answer', 1, 0, 0, 0, 0, 280, 94200);
INSERT INTO public.usage VALUES ('2026-11-19', 'alice', 'alice', 'default', 'default', 'answer', 9, 0, 0, 0, 0, 1571, 380550);
INSERT INTO public.usage VALUES ('2026-11-19', 'bob', 'bob', 'default', 'default', 'answer', 2, 0, 0, 0, 0, 472, 142350);



SELECT pg_catalog.setval('public.audit_lines_number_seq', 10, true);



SELECT pg_catalog.setval('public.processes_id_seq', 1, false);



SELECT pg_catalog.setval('public.runs_number_seq', 13, true);



ALTER TABLE ONLY dbos.application_versions
    ADD CONSTRAINT application_versions_pkey PRIMARY KEY (version_id);



ALTER TABLE ONLY dbos.application_versions
    ADD CONSTRAINT application_versions_version_name_key UNIQUE (version_name);



ALTER TABLE ONLY dbos.dbos_migrations
    ADD CONSTRAINT dbos_migrations_pkey PRIMARY KEY (version);



ALTER TABLE ONLY dbos.event_dispatch_kv
    ADD CONSTRAINT event_dispatch_kv_pkey PRIMARY KEY (service_name, workflow_fn_name, key);



ALTER TABLE ONLY dbos.notifications
    ADD CONSTRAINT notifications_pkey PRIMARY KEY (message_uuid);



ALTER TABLE ONLY dbos.operation_outputs
    ADD CONSTRAINT operation_outputs_pkey PRIMARY KEY (workflow_uuid, function_id);



ALTER TABLE ONLY dbos.queues
    ADD CONSTRAINT queues_name_key UNIQUE (name);



ALTER TABLE ONLY dbos.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (queue_id);



ALTER TABLE ONLY dbos.streams
    ADD CONSTRAINT streams_pkey PRIMARY KEY (workflow_uuid, key, "offset");



ALTER TABLE ONLY dbos.workflow_events_history
    ADD CONSTRAINT workflow_events_history_pkey PRIMARY KEY (workflow_uuid, function_id, key);



ALTER TABLE ONLY dbos.workflow_events
    ADD CONSTRAINT workflow_events_pkey PRIMARY KEY (workflow_uuid, key);



ALTER TABLE ONLY dbos.workflow_input
    ADD CONSTRAINT workflow_input_pkey PRIMARY KEY (workflow_uuid);



ALTER TABLE ONLY dbos.workflow_output
    ADD CONSTRAINT workflow_output_pkey PRIMARY KEY (workflow_uuid);



ALTER TABLE ONLY dbos.workflow_schedules
    ADD CONSTRAINT workflow_schedules_pkey PRIMARY KEY (schedule_id);



ALTER TABLE ONLY dbos.workflow_schedules
    ADD CONSTRAINT workflow_schedules_schedule_name_key UNIQUE (schedule_name);



ALTER TABLE ONLY dbos.workflow_status
    ADD CONSTRAINT workflow_status_pkey PRIMARY KEY (workflow_uuid);



ALTER TABLE ONLY public.api_key_secrets
    ADD CONSTRAINT pk_api_key_secrets PRIMARY KEY (hash);



ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT pk_api_keys PRIMARY KEY (name);



ALTER TABLE ONLY public.audit_lines
    ADD CONSTRAINT pk_audit_lines PRIMARY KEY (number);



ALTER TABLE ONLY public.files
    ADD CONSTRAINT pk_files PRIMARY KEY (id);



ALTER TABLE ONLY public.interrupts
    ADD CONSTRAINT pk_interrupts PRIMARY KEY (thread_id, id);



ALTER TABLE ONLY public.limit_counters
    ADD CONSTRAINT pk_limit_counters PRIMARY KEY (limit_name, rule, subject);



ALTER TABLE ONLY public.limit_holds
    ADD CONSTRAINT pk_limit_holds PRIMARY KEY (id);



ALTER TABLE ONLY public.mcp_pins
    ADD CONSTRAINT pk_mcp_pins PRIMARY KEY (server, name);



ALTER TABLE ONLY public.message_texts
    ADD CONSTRAINT pk_message_texts PRIMARY KEY (thread_id, "position");



ALTER TABLE ONLY public.messages
    ADD CONSTRAINT pk_messages PRIMARY KEY (thread_id, "position");



ALTER TABLE ONLY public.processes
    ADD CONSTRAINT pk_processes PRIMARY KEY (id);



ALTER TABLE ONLY public.runs
    ADD CONSTRAINT pk_runs PRIMARY KEY (number);



ALTER TABLE ONLY public.threads
    ADD CONSTRAINT pk_threads PRIMARY KEY (id);



ALTER TABLE ONLY public.usage
    ADD CONSTRAINT pk_usage PRIMARY KEY (day, "user", key, agent, model, purpose);



ALTER TABLE ONLY public.rightseat_version
    ADD CONSTRAINT rightseat_version_pkc PRIMARY KEY (version_num);



CREATE INDEX idx_operation_outputs_completed_at_function_name_v2 ON dbos.operation_outputs USING btree (completed_at_epoch_ms, function_name) INCLUDE (application_name);



CREATE INDEX idx_operation_outputs_retention ON dbos.operation_outputs USING btree (retention_timestamp);



CREATE INDEX idx_workflow_input_retention ON dbos.workflow_input USING btree (retention_timestamp);



CREATE INDEX idx_workflow_output_retention ON dbos.workflow_output USING btree (retention_timestamp);



CREATE INDEX idx_workflow_status_attributes ON dbos.workflow_status USING gin (attributes) WHERE (attributes IS NOT NULL);



CREATE INDEX idx_workflow_status_completed_at ON dbos.workflow_status USING btree (completed_at) WHERE (completed_at IS NOT NULL);



CREATE INDEX idx_workflow_status_deadline ON dbos.workflow_status USING btree (workflow_deadline_epoch_ms) WHERE ((status = ANY (ARRAY['ENQUEUED'::text, 'PENDING'::text, 'DELAYED'::text])) AND (workflow_deadline_epoch_ms IS NOT NULL));



CREATE INDEX idx_workflow_status_delayed ON dbos.workflow_status USING btree (delay_until_epoch_ms) WHERE (status = 'DELAYED'::text);



CREATE INDEX idx_workflow_status_failed ON dbos.workflow_status USING btree (status, created_at) WHERE (status = ANY (ARRAY['ERROR'::text, 'CANCELLED'::text, 'MAX_RECOVERY_ATTEMPTS_EXCEEDED'::text]));



CREATE INDEX idx_workflow_status_forked_from ON dbos.workflow_status USING btree (forked_from) WHERE (forked_from IS NOT NULL);



CREATE INDEX idx_workflow_status_in_flight_v2 ON dbos.workflow_status USING btree (queue_name, status, priority, created_at) INCLUDE (application_name) WHERE (status = ANY (ARRAY['ENQUEUED'::text, 'PENDING'::text]));



CREATE INDEX idx_workflow_status_parent_workflow_id ON dbos.workflow_status USING btree (parent_workflow_id) WHERE (parent_workflow_id IS NOT NULL);



CREATE INDEX idx_workflow_status_partition_dequeue_v3 ON dbos.workflow_status USING btree (queue_name, status, queue_partition_key, priority, created_at, workflow_uuid) INCLUDE (application_name) WHERE ((status = ANY (ARRAY['ENQUEUED'::text, 'PENDING'::text])) AND (queue_partition_key IS NOT NULL));



CREATE INDEX idx_workflow_status_pending ON dbos.workflow_status USING btree (created_at) WHERE (status = 'PENDING'::text);



CREATE INDEX idx_workflow_status_rate_limited ON dbos.workflow_status USING btree (queue_name, started_at_epoch_ms) WHERE (rate_limited = true);



CREATE INDEX idx_workflow_status_schedule_name ON dbos.workflow_status USING btree (schedule_name) WHERE (schedule_name IS NOT NULL);



CREATE INDEX idx_workflow_status_started_at ON dbos.workflow_status USING btree (started_at_epoch_ms) WHERE (started_at_epoch_ms IS NOT NULL);



CREATE INDEX idx_workflow_topic ON dbos.notifications USING btree (destination_uuid, topic);



CREATE UNIQUE INDEX uq_application_versions_owner_version ON dbos.application_versions USING btree (application_name, version_name) WHERE (application_name IS NOT NULL);



CREATE UNIQUE INDEX uq_application_versions_unclaimed_version ON dbos.application_versions USING btree (version_name) WHERE (application_name IS NULL);



CREATE UNIQUE INDEX uq_workflow_status_dedup_id ON dbos.workflow_status USING btree (queue_name, deduplication_id) WHERE (deduplication_id IS NOT NULL);



CREATE INDEX workflow_status_created_at_index ON dbos.workflow_status USING btree (created_at);



CREATE INDEX ix_audit_lines_at ON public.audit_lines USING btree (at);



CREATE INDEX ix_files_thread_id ON public.files USING btree (thread_id);



CREATE INDEX ix_files_without_thread ON public.files USING btree (created_at) WHERE (thread_id IS NULL);



CREATE INDEX ix_interrupts_open ON public.interrupts USING btree (expires_at) WHERE (answered_at IS NULL);



CREATE INDEX ix_interrupts_owner_answered_at ON public.interrupts USING btree (owner, answered_at);



CREATE INDEX ix_limit_counters_expires_at ON public.limit_counters USING btree (expires_at);



CREATE INDEX ix_limit_holds_process_id ON public.limit_holds USING btree (process_id);



CREATE INDEX ix_limit_holds_queue ON public.limit_holds USING btree (queue);



CREATE INDEX ix_limit_holds_slot_user ON public.limit_holds USING btree (slot_user);



CREATE UNIQUE INDEX ix_runs_id ON public.runs USING btree (id);



CREATE INDEX ix_runs_thread_id ON public.runs USING btree (thread_id);



CREATE INDEX ix_runs_unfinished ON public.runs USING btree (process_id) WHERE (outcome IS NULL);



CREATE INDEX ix_threads_owner_updated_at ON public.threads USING btree (owner, updated_at, id);



CREATE INDEX ix_threads_updated_at ON public.threads USING btree (updated_at, id);



ALTER TABLE ONLY dbos.notifications
    ADD CONSTRAINT notifications_destination_uuid_fkey FOREIGN KEY (destination_uuid) REFERENCES dbos.workflow_status(workflow_uuid) ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY dbos.streams
    ADD CONSTRAINT streams_workflow_uuid_fkey FOREIGN KEY (workflow_uuid) REFERENCES dbos.workflow_status(workflow_uuid) ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY dbos.workflow_events_history
    ADD CONSTRAINT workflow_events_history_workflow_uuid_fkey FOREIGN KEY (workflow_uuid) REFERENCES dbos.workflow_status(workflow_uuid) ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY dbos.workflow_events
    ADD CONSTRAINT workflow_events_workflow_uuid_fkey FOREIGN KEY (workflow_uuid) REFERENCES dbos.workflow_status(workflow_uuid) ON UPDATE CASCADE ON DELETE CASCADE;



ALTER TABLE ONLY public.api_key_secrets
    ADD CONSTRAINT fk_api_key_secrets_key_name FOREIGN KEY (key_name) REFERENCES public.api_keys(name) ON DELETE CASCADE;



ALTER TABLE ONLY public.files
    ADD CONSTRAINT fk_files_thread_id FOREIGN KEY (thread_id) REFERENCES public.threads(id) ON DELETE CASCADE;



ALTER TABLE ONLY public.interrupts
    ADD CONSTRAINT fk_interrupts_thread_id FOREIGN KEY (thread_id) REFERENCES public.threads(id) ON DELETE CASCADE;



ALTER TABLE ONLY public.message_texts
    ADD CONSTRAINT fk_message_texts_thread_id FOREIGN KEY (thread_id) REFERENCES public.threads(id) ON DELETE CASCADE;



ALTER TABLE ONLY public.messages
    ADD CONSTRAINT fk_messages_thread_id FOREIGN KEY (thread_id) REFERENCES public.threads(id) ON DELETE CASCADE;



ALTER TABLE ONLY public.runs
    ADD CONSTRAINT fk_runs_thread_id FOREIGN KEY (thread_id) REFERENCES public.threads(id) ON DELETE CASCADE;




