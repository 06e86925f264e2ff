


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



CREATE TABLE public.log_records (
    run_key bigint NOT NULL,
    epoch bigint NOT NULL,
    seq bigint NOT NULL,
    kind text NOT NULL,
    content text NOT NULL
);



CREATE TABLE public.log_runs (
    key bigint NOT NULL,
    id text NOT NULL,
    epoch bigint NOT NULL,
    ended_at timestamp with time zone
);



ALTER TABLE public.log_runs ALTER COLUMN key ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.log_runs_key_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);



CREATE TABLE public.log_version (
    version integer NOT NULL
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



INSERT INTO dbos.application_versions VALUES ('f6b88077-7b4c-4dfe-b06d-c3eae5aeb239', '1', 1795122296191, 1795122296191, 'rightseat');



INSERT INTO dbos.dbos_migrations VALUES (123);









INSERT INTO dbos.operation_outputs VALUES ('run_e4b31db6f7e794464f05626cbae59f27', 1, 'answer:0', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_56058be68526fb9ad5372c6260d55f10\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_56058be68526fb9ad5372c6260d55f10\",\"text\":\"You said: “Hello, shop. 你好！” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order.\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_56058be68526fb9ad5372c6260d55f10\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122297781, 1795122297794, 'rightseat_json', 'rightseat', 1795122297796);
INSERT INTO dbos.operation_outputs VALUES ('run_50ba74391f99eb714ca4b99fda262222', 1, 'answer:0', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_1e41ad9782823d47926b7f33ea23ee05\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_1e41ad9782823d47926b7f33ea23ee05\",\"text\":\"You said: “And again.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order.\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_1e41ad9782823d47926b7f33ea23ee05\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122299015, 1795122299030, 'rightseat_json', 'rightseat', 1795122299031);
INSERT INTO dbos.operation_outputs VALUES ('run_81836052c2e9c37b6b26cfe1150e152b', 1, 'answer:0', '"[{\"type\":\"ToolCallStarted\",\"call_id\":\"call_903ec414510b8624dbd37a65270555a6\",\"name\":\"read_order\",\"message_id\":null},{\"type\":\"ToolCallDelta\",\"call_id\":\"call_903ec414510b8624dbd37a65270555a6\",\"text\":\"{\\\"number\\\": \\\"7\\\"}\"},{\"type\":\"ToolCallEnded\",\"call_id\":\"call_903ec414510b8624dbd37a65270555a6\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"tool_calls\",\"usage\":null}]"', NULL, NULL, 1795122299230, 1795122299250, 'rightseat_json', 'rightseat', 1795122299251);
INSERT INTO dbos.operation_outputs VALUES ('run_81836052c2e9c37b6b26cfe1150e152b', 2, 'tool:call_903ec414510b8624dbd37a65270555a6', '"[{\"type\":\"ToolCallReturned\",\"call_id\":\"call_903ec414510b8624dbd37a65270555a6\",\"name\":\"read_order\",\"content\":\"{\\\"order\\\":\\\"7\\\",\\\"state\\\":\\\"paid\\\"}\",\"error\":null,\"message_id\":null}]"', NULL, NULL, 1795122299261, 1795122299270, 'rightseat_json', 'rightseat', 1795122299271);
INSERT INTO dbos.operation_outputs VALUES ('run_81836052c2e9c37b6b26cfe1150e152b', 3, 'answer:1', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_70637f84078a54e067ade0df8be9cae5\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_70637f84078a54e067ade0df8be9cae5\",\"text\":\"The tool read_order returned: {\\\"order\\\":\\\"7\\\",\\\"state\\\":\\\"paid\\\"}\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_70637f84078a54e067ade0df8be9cae5\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122299409, 1795122299414, 'rightseat_json', 'rightseat', 1795122299416);
INSERT INTO dbos.operation_outputs VALUES ('run_057df4d693d5533b1bf668d0bdb27506', 1, 'answer:0', '"[{\"type\":\"ToolCallStarted\",\"call_id\":\"call_5b0278499432e19f0948b1c4a5179c38\",\"name\":\"cancel_order\",\"message_id\":null},{\"type\":\"ToolCallDelta\",\"call_id\":\"call_5b0278499432e19f0948b1c4a5179c38\",\"text\":\"{\\\"number\\\": \\\"8\\\"}\"},{\"type\":\"ToolCallEnded\",\"call_id\":\"call_5b0278499432e19f0948b1c4a5179c38\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"tool_calls\",\"usage\":null}]"', NULL, NULL, 1795122299575, 1795122299585, 'rightseat_json', 'rightseat', 1795122299586);
INSERT INTO dbos.operation_outputs VALUES ('run_fa5de17e50b8fb06a70a86abfe6693a8', 1, 'try:call_5b0278499432e19f0948b1c4a5179c38', '"\"attempt_f6210ac248b1f0fd96cba4735b8e22c4\""', NULL, NULL, 1795122299757, 1795122299773, 'rightseat_json', 'rightseat', 1795122299774);
INSERT INTO dbos.operation_outputs VALUES ('run_fa5de17e50b8fb06a70a86abfe6693a8', 2, 'tool:call_5b0278499432e19f0948b1c4a5179c38', '"[{\"type\":\"ToolCallReturned\",\"call_id\":\"call_5b0278499432e19f0948b1c4a5179c38\",\"name\":\"cancel_order\",\"content\":\"{\\\"order\\\":\\\"8\\\",\\\"state\\\":\\\"cancelled\\\"}\",\"error\":null,\"message_id\":null}]"', NULL, NULL, 1795122299785, 1795122299793, 'rightseat_json', 'rightseat', 1795122299795);
INSERT INTO dbos.operation_outputs VALUES ('run_fa5de17e50b8fb06a70a86abfe6693a8', 3, 'answer:0', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_ccf0a80e50f306a1c23754f567277358\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_ccf0a80e50f306a1c23754f567277358\",\"text\":\"The tool cancel_order returned: {\\\"order\\\":\\\"8\\\",\\\"state\\\":\\\"cancelled\\\"}\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_ccf0a80e50f306a1c23754f567277358\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122299923, 1795122299928, 'rightseat_json', 'rightseat', 1795122299930);
INSERT INTO dbos.operation_outputs VALUES ('run_a28ba57bb7bfa81cbd5fd384063e8481', 1, 'answer:0', '"[{\"type\":\"ToolCallStarted\",\"call_id\":\"call_f6e6d7514fc85db26354bad8637f020f\",\"name\":\"cancel_order\",\"message_id\":null},{\"type\":\"ToolCallDelta\",\"call_id\":\"call_f6e6d7514fc85db26354bad8637f020f\",\"text\":\"{\\\"number\\\": \\\"9\\\"}\"},{\"type\":\"ToolCallEnded\",\"call_id\":\"call_f6e6d7514fc85db26354bad8637f020f\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"tool_calls\",\"usage\":null}]"', NULL, NULL, 1795122300030, 1795122300040, 'rightseat_json', 'rightseat', 1795122300041);
INSERT INTO dbos.operation_outputs VALUES ('run_50a05882e16e6039af08f0ee4d47169c', 1, 'answer:0', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3\",\"text\":\"The tool cancel_order returned: The user denied the call. It was not run.\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122300475, 1795122300484, 'rightseat_json', 'rightseat', 1795122300486);
INSERT INTO dbos.operation_outputs VALUES ('run_32e1a6a654cc85dcfa17d69f5797cff5', 1, 'answer:0', '"[{\"type\":\"ToolCallStarted\",\"call_id\":\"call_3d0f211e03c8cf86724f53c7d46a6071\",\"name\":\"cancel_order\",\"message_id\":null},{\"type\":\"ToolCallDelta\",\"call_id\":\"call_3d0f211e03c8cf86724f53c7d46a6071\",\"text\":\"{\\\"number\\\": \\\"10\\\"}\"},{\"type\":\"ToolCallEnded\",\"call_id\":\"call_3d0f211e03c8cf86724f53c7d46a6071\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"tool_calls\",\"usage\":null}]"', NULL, NULL, 1795122300627, 1795122300638, 'rightseat_json', 'rightseat', 1795122300639);
INSERT INTO dbos.operation_outputs VALUES ('run_0ed8ee7fc1a01aafcd01310c9284c325', 1, 'answer:0', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee\",\"text\":\"You said: “Hello for the archive.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order.\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122303607, 1795122303613, 'rightseat_json', 'rightseat', 1795122303614);
INSERT INTO dbos.operation_outputs VALUES ('run_8f105b2b8ce7b5e8a5f48516db93245e', 1, 'answer:0', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_2e185e9cdaf0d84b8e29a3878e7855f0\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_2e185e9cdaf0d84b8e29a3878e7855f0\",\"text\":\"You said: “Hello from Bob.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order.\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_2e185e9cdaf0d84b8e29a3878e7855f0\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122304815, 1795122304826, 'rightseat_json', 'rightseat', 1795122304828);
INSERT INTO dbos.operation_outputs VALUES ('run_aff0752ed2d3371478fff03a1196c506', 1, 'answer:0', '"[{\"type\":\"TextStarted\",\"message_id\":\"msg_0db59aa86dc2590e8e20d3637ba7779a\"},{\"type\":\"TextDelta\",\"message_id\":\"msg_0db59aa86dc2590e8e20d3637ba7779a\",\"text\":\"You said: “Once more.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order.\"},{\"type\":\"TextEnded\",\"message_id\":\"msg_0db59aa86dc2590e8e20d3637ba7779a\",\"complete\":true},{\"type\":\"ModelResponseEnded\",\"reason\":\"stop\",\"usage\":null}]"', NULL, NULL, 1795122305994, 1795122305999, 'rightseat_json', 'rightseat', 1795122306000);



INSERT INTO dbos.queues VALUES ('d1df649d-597d-48dd-96c3-78444b9d5b77', 'rightseat', NULL, NULL, NULL, NULL, true, false, 1, 1795122296246, 1795122296245, 'rightseat', NULL, NULL, NULL, NULL);












INSERT INTO dbos.workflow_input VALUES ('run_e4b31db6f7e794464f05626cbae59f27', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"Hello, shop. 你好！\"}],\"id\":\"question-13d7466a\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"hello\",\"run_id\":\"run_e4b31db6f7e794464f05626cbae59f27\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-df081a8a85fc53a9\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122296646);
INSERT INTO dbos.workflow_input VALUES ('run_50ba74391f99eb714ca4b99fda262222', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"And again.\"}],\"id\":\"question-f0c1782c\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"hello\",\"run_id\":\"run_50ba74391f99eb714ca4b99fda262222\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-d169aa8146d8c07f\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122297893);
INSERT INTO dbos.workflow_input VALUES ('run_81836052c2e9c37b6b26cfe1150e152b', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"read_order 7\"}],\"id\":\"question-acf60d83\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"reading\",\"run_id\":\"run_81836052c2e9c37b6b26cfe1150e152b\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-7fc6f0d66786a034\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122299161);
INSERT INTO dbos.workflow_input VALUES ('run_057df4d693d5533b1bf668d0bdb27506', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"cancel_order 8\"}],\"id\":\"question-1c088f14\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"cancelled\",\"run_id\":\"run_057df4d693d5533b1bf668d0bdb27506\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-68d2de70630dc22c\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122299508);
INSERT INTO dbos.workflow_input VALUES ('run_fa5de17e50b8fb06a70a86abfe6693a8', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"cancel_order 8\"}],\"id\":\"question-1c088f14\",\"extra\":null},{\"role\":\"assistant\",\"parts\":[{\"type\":\"call\",\"id\":\"call_5b0278499432e19f0948b1c4a5179c38\",\"name\":\"cancel_order\",\"arguments\":\"{\\\"number\\\": \\\"8\\\"}\"}],\"id\":\"call_5b0278499432e19f0948b1c4a5179c38\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"cancelled\",\"run_id\":\"run_fa5de17e50b8fb06a70a86abfe6693a8\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[{\"interrupt_id\":\"interrupt_024c19d3421ca71e197bb157f56acdb9\",\"status\":\"resolved\",\"payload\":{\"approved\":true},\"call\":{\"type\":\"call\",\"id\":\"call_5b0278499432e19f0948b1c4a5179c38\",\"name\":\"cancel_order\",\"arguments\":\"{\\\"number\\\": \\\"8\\\"}\"},\"memo\":null,\"reason\":\"approval_required\",\"subject\":\"\",\"by\":\"\"}],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":null,\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122299739);
INSERT INTO dbos.workflow_input VALUES ('run_a28ba57bb7bfa81cbd5fd384063e8481', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"cancel_order 9\"}],\"id\":\"question-7df19f42\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"refused\",\"run_id\":\"run_a28ba57bb7bfa81cbd5fd384063e8481\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-1062bd807aa636df\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122299982);
INSERT INTO dbos.workflow_input VALUES ('run_50a05882e16e6039af08f0ee4d47169c', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"cancel_order 9\"}],\"id\":\"question-7df19f42\",\"extra\":null},{\"role\":\"assistant\",\"parts\":[{\"type\":\"call\",\"id\":\"call_f6e6d7514fc85db26354bad8637f020f\",\"name\":\"cancel_order\",\"arguments\":\"{\\\"number\\\": \\\"9\\\"}\"}],\"id\":\"call_f6e6d7514fc85db26354bad8637f020f\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"refused\",\"run_id\":\"run_50a05882e16e6039af08f0ee4d47169c\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[{\"interrupt_id\":\"interrupt_efedb20c91bc07c9336165dcef75a812\",\"status\":\"resolved\",\"payload\":{\"approved\":false},\"call\":{\"type\":\"call\",\"id\":\"call_f6e6d7514fc85db26354bad8637f020f\",\"name\":\"cancel_order\",\"arguments\":\"{\\\"number\\\": \\\"9\\\"}\"},\"memo\":null,\"reason\":\"approval_required\",\"subject\":\"\",\"by\":\"\"}],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":null,\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122300159);
INSERT INTO dbos.workflow_input VALUES ('run_32e1a6a654cc85dcfa17d69f5797cff5', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"cancel_order 10\"}],\"id\":\"question-ff4e5528\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"waiting\",\"run_id\":\"run_32e1a6a654cc85dcfa17d69f5797cff5\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-a0fd20cac1fc9df7\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122300573);
INSERT INTO dbos.workflow_input VALUES ('run_8f105b2b8ce7b5e8a5f48516db93245e', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"Hello from Bob.\"}],\"id\":\"msg_d75559ccf44d8170df6d32bde5c631e0\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"thread_792da7c48e8f9b336e164c8e95c49b7c\",\"run_id\":\"run_8f105b2b8ce7b5e8a5f48516db93245e\",\"principal\":{\"id\":\"bob\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"bob\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"openai\",\"client_run_id\":null,\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":false,\"truncate_at\":null}"],"kwargs":{}}', 1795122303693);
INSERT INTO dbos.workflow_input VALUES ('run_aff0752ed2d3371478fff03a1196c506', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"Hello from Bob.\"}],\"id\":\"msg_d75559ccf44d8170df6d32bde5c631e0\",\"extra\":null},{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"text\":\"You said: “Hello from Bob.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order.\"}],\"id\":\"msg_2e185e9cdaf0d84b8e29a3878e7855f0\",\"extra\":null},{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"Once more.\"}],\"id\":\"msg_e9751740b2c3926b2cda7af98d3b8216\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"thread_792da7c48e8f9b336e164c8e95c49b7c\",\"run_id\":\"run_aff0752ed2d3371478fff03a1196c506\",\"principal\":{\"id\":\"bob\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"bob\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"openai\",\"client_run_id\":null,\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":false,\"truncate_at\":null}"],"kwargs":{}}', 1795122304894);
INSERT INTO dbos.workflow_input VALUES ('run_3eff97df9bfefba96ae1837e2d93e661', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"Hello, and do not stop.\"}],\"id\":\"question-809fccfa\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"long\",\"run_id\":\"run_3eff97df9bfefba96ae1837e2d93e661\",\"principal\":{\"id\":\"carol\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"carol\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-cb55321048e0cb5a\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122307192);
INSERT INTO dbos.workflow_input VALUES ('run_0ed8ee7fc1a01aafcd01310c9284c325', '{"args":["{\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"Hello for the archive.\"}],\"id\":\"question-23fb6c19\",\"extra\":null}],\"agent\":\"default\",\"thread_id\":\"archived\",\"run_id\":\"run_0ed8ee7fc1a01aafcd01310c9284c325\",\"principal\":{\"id\":\"alice\",\"agents\":null},\"tools\":[],\"parameters\":{\"model\":null,\"temperature\":null,\"max_tokens\":null,\"stop\":null,\"tool_choice\":null,\"parallel_calls\":null,\"response_schema\":null,\"response_strict\":null,\"response_name\":null,\"top_p\":null,\"seed\":null,\"presence_penalty\":null,\"frequency_penalty\":null,\"logprobs\":null},\"context\":[],\"state\":null,\"properties\":{},\"headers\":{},\"config\":{},\"answers\":[],\"topics\":null,\"caller\":{\"key\":\"alice\",\"address\":\"127.0.0.1\"},\"purpose\":\"answer\",\"downgrade\":null,\"face\":\"copilotkit\",\"client_run_id\":\"run-d6fa6c52f96d8f88\",\"node\":null,\"max_turns\":null,\"final_answer_without_tools\":false,\"transient\":false,\"interactive\":false,\"durable\":true,\"when_busy\":\"refuse\",\"supports_suggestions\":true,\"truncate_at\":null}"],"kwargs":{}}', 1795122302457);



INSERT INTO dbos.workflow_output VALUES ('run_e4b31db6f7e794464f05626cbae59f27', 'null', NULL, 1795122297875);
INSERT INTO dbos.workflow_output VALUES ('run_50ba74391f99eb714ca4b99fda262222', 'null', NULL, 1795122299146);
INSERT INTO dbos.workflow_output VALUES ('run_81836052c2e9c37b6b26cfe1150e152b', 'null', NULL, 1795122299496);
INSERT INTO dbos.workflow_output VALUES ('run_057df4d693d5533b1bf668d0bdb27506', 'null', NULL, 1795122299664);
INSERT INTO dbos.workflow_output VALUES ('run_fa5de17e50b8fb06a70a86abfe6693a8', 'null', NULL, 1795122299995);
INSERT INTO dbos.workflow_output VALUES ('run_a28ba57bb7bfa81cbd5fd384063e8481', 'null', NULL, 1795122300104);
INSERT INTO dbos.workflow_output VALUES ('run_50a05882e16e6039af08f0ee4d47169c', 'null', NULL, 1795122300579);
INSERT INTO dbos.workflow_output VALUES ('run_32e1a6a654cc85dcfa17d69f5797cff5', 'null', NULL, 1795122300715);
INSERT INTO dbos.workflow_output VALUES ('run_0ed8ee7fc1a01aafcd01310c9284c325', 'null', NULL, 1795122303682);
INSERT INTO dbos.workflow_output VALUES ('run_8f105b2b8ce7b5e8a5f48516db93245e', 'null', NULL, 1795122304882);
INSERT INTO dbos.workflow_output VALUES ('run_aff0752ed2d3371478fff03a1196c506', 'null', NULL, 1795122306044);






INSERT INTO dbos.workflow_status VALUES ('run_e4b31db6f7e794464f05626cbae59f27', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, '667975dd405f5e62', 1795122296646, 1795122297875, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122297875, 'null', NULL, NULL, false, 'rightseat', 'c560dd84-9c12-4d43-9f9e-8bb054e920ce');
INSERT INTO dbos.workflow_status VALUES ('run_50ba74391f99eb714ca4b99fda262222', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, '667975dd405f5e62', 1795122297893, 1795122299146, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122299146, 'null', NULL, NULL, false, 'rightseat', '4873512b-4705-4db7-81f8-9e68e9ecdd60');
INSERT INTO dbos.workflow_status VALUES ('run_81836052c2e9c37b6b26cfe1150e152b', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, '667975dd405f5e62', 1795122299161, 1795122299496, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122299496, 'null', NULL, NULL, false, 'rightseat', '69d636fb-5ea5-455e-abc4-ca74d8e57429');
INSERT INTO dbos.workflow_status VALUES ('run_057df4d693d5533b1bf668d0bdb27506', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, '667975dd405f5e62', 1795122299508, 1795122299664, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122299664, 'null', NULL, NULL, false, 'rightseat', '9766bce8-e1f6-4df9-8f39-ff9e9f1f257f');
INSERT INTO dbos.workflow_status VALUES ('run_fa5de17e50b8fb06a70a86abfe6693a8', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, '667975dd405f5e62', 1795122299739, 1795122299995, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122299995, 'null', NULL, NULL, false, 'rightseat', 'c70ca2ff-2c7d-432f-a9c5-03f701a57758');
INSERT INTO dbos.workflow_status VALUES ('run_a28ba57bb7bfa81cbd5fd384063e8481', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, '667975dd405f5e62', 1795122299982, 1795122300104, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122300104, 'null', NULL, NULL, false, 'rightseat', '8d42cb54-63f0-439e-a1f1-ab7715943a3e');
INSERT INTO dbos.workflow_status VALUES ('run_50a05882e16e6039af08f0ee4d47169c', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, '667975dd405f5e62', 1795122300159, 1795122300579, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122300579, 'null', NULL, NULL, false, 'rightseat', '45c0dbb8-8ed0-4793-8ee5-d6d537871045');
INSERT INTO dbos.workflow_status VALUES ('run_32e1a6a654cc85dcfa17d69f5797cff5', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, '667975dd405f5e62', 1795122300573, 1795122300715, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122300715, 'null', NULL, NULL, false, 'rightseat', '4d8da596-bd82-4a8e-8b78-0f17955cd888');
INSERT INTO dbos.workflow_status VALUES ('run_0ed8ee7fc1a01aafcd01310c9284c325', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, '667975dd405f5e62', 1795122302457, 1795122303682, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122303682, 'null', NULL, NULL, false, 'rightseat', '3ccf7373-240e-4516-91b4-cacb3345541d');
INSERT INTO dbos.workflow_status VALUES ('run_8f105b2b8ce7b5e8a5f48516db93245e', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, '667975dd405f5e62', 1795122303693, 1795122304882, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122304882, 'null', NULL, NULL, false, 'rightseat', '7aec9ec7-118f-46a8-bbf8-be2dcdd141c0');
INSERT INTO dbos.workflow_status VALUES ('run_aff0752ed2d3371478fff03a1196c506', 'SUCCESS', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, '667975dd405f5e62', 1795122304894, 1795122306044, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'rightseat_json', NULL, false, false, 1795122306044, 'null', NULL, NULL, false, 'rightseat', 'a16674a2-c247-4d05-aca5-876af8e39124');
INSERT INTO dbos.workflow_status VALUES ('run_3eff97df9bfefba96ae1837e2d93e661', 'PENDING', 'rightseat.run', NULL, NULL, NULL, NULL, NULL, NULL, '667975dd405f5e62', 1795122307192, 1795122307192, '1', '', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, '02c51585-14f6-43b5-a52e-8c61b75885b6', NULL, 'rightseat_json', NULL, false, false, NULL, 'null', NULL, NULL, false, 'rightseat', '02c51585-14f6-43b5-a52e-8c61b75885b6');



INSERT INTO public.api_key_secrets VALUES ('f8931210408310928c816352353b293bfd253bccdc64c622a72d2e9cb1dbc2fe', 'zA9IhcXR', 'alice', '2026-11-19T21:01:26.726381Z', NULL);
INSERT INTO public.api_key_secrets VALUES ('45962bcde8a98d94a032c42f5700aa9a54d86ec5675d57f726ec16bec04b62dd', 'LAsSqQL0', 'bob', '2026-11-19T21:01:31.344965Z', NULL);
INSERT INTO public.api_key_secrets VALUES ('b5e102ac4024cb1d05124c59e59433de3e1652e89cca86f49e97ced45addd8d2', 'uD3Nm61e', 'carol', '2026-11-19T21:03:59.705961Z', NULL);
INSERT INTO public.api_key_secrets VALUES ('2f77d5da8407a327683047ac8873d63c7cda4da1eb067b4a369147aa106909b4', '6YcfbtoH', 'gone', '2026-11-19T21:04:06.130088Z', NULL);



INSERT INTO public.api_keys VALUES ('alice', 'alice', '["*"]', '2026-11-19T21:01:26.257725Z', NULL, NULL, NULL, 1, false);
INSERT INTO public.api_keys VALUES ('bob', 'bob', '["*"]', '2026-11-19T21:01:31.279824Z', NULL, NULL, NULL, 1, false);
INSERT INTO public.api_keys VALUES ('carol', 'carol', '["*"]', '2026-11-19T21:03:59.567307Z', NULL, NULL, NULL, 1, false);
INSERT INTO public.api_keys VALUES ('gone', 'gone', '["*"]', '2026-11-19T21:04:06.001757Z', NULL, '2026-11-19T21:04:50.822314Z', NULL, 2, false);



INSERT INTO public.audit_lines VALUES (1, '2026-11-19T21:01:26.731Z', 'key_change', '', 'command line: created the key alice', '');
INSERT INTO public.audit_lines VALUES (2, '2026-11-19T21:01:31.350Z', 'key_change', '', 'command line: created the key bob', '');
INSERT INTO public.audit_lines VALUES (3, '2026-11-19T21:03:59.709Z', 'key_change', '', 'command line: created the key carol', '');
INSERT INTO public.audit_lines VALUES (4, '2026-11-19T21:04:06.134Z', 'key_change', '', 'command line: created the key gone', '');
INSERT INTO public.audit_lines VALUES (5, '2026-11-19T21:04:50.830Z', 'key_change', '', 'command line: revoked the key gone', '');
INSERT INTO public.audit_lines VALUES (6, '2026-11-19T21:04:56.611Z', 'key_use', 'alice', 'copilotkit was used with the key ''alice''', 'req_300f25d898e69e1dfad3afa57646ebb1');
INSERT INTO public.audit_lines VALUES (7, '2026-11-19T21:04:59.742Z', 'approval', 'alice', 'approval: user=''alice'' agent=''default'' tool=''cancel_order'' interrupt=''interrupt_024c19d3421ca71e197bb157f56acdb9'' decision=allow', 'req_5f6db61c8d68c6aa35544d415608beeb');
INSERT INTO public.audit_lines VALUES (8, '2026-11-19T21:05:00.165Z', 'approval', 'alice', 'approval: user=''alice'' agent=''default'' tool=''cancel_order'' interrupt=''interrupt_efedb20c91bc07c9336165dcef75a812'' decision=deny', 'req_72b7f733a4a593cc868328d9690339d8');
INSERT INTO public.audit_lines VALUES (9, '2026-11-19T21:05:03.668Z', 'key_use', 'bob', 'openai was used with the key ''bob''', 'req_4ac76330f0882ef9700cafa3d250378a');
INSERT INTO public.audit_lines VALUES (10, '2026-11-19T21:05:06.092Z', 'key_use', 'key:support', 'operator was used with the key ''support''', 'req_ba34d1e507e22408558eaf63d47bbeaf');
INSERT INTO public.audit_lines VALUES (11, '2026-11-19T21:05:06.334Z', 'operator', 'key:support', 'operator: key:support read thread thread_792da7c48e8f9b336e164c8e95c49b7c of bob', 'req_e3a5431a50634737b25d3c12ca1a5d27');
INSERT INTO public.audit_lines VALUES (12, '2026-11-19T21:05:06.377Z', 'operator', 'key:support', 'operator: key:support read thread totals of alice', 'req_e9d898772bd6d321165089d4064364a4');
INSERT INTO public.audit_lines VALUES (13, '2026-11-19T21:05:06.403Z', 'operator', 'key:support', 'operator: key:support read thread waiting of alice', 'req_501a01cc2e67e7516b53f1b1a9818ebc');
INSERT INTO public.audit_lines VALUES (14, '2026-11-19T21:05:06.425Z', 'operator', 'key:support', 'operator: key:support read thread refused of alice', 'req_70c97a69126924e960a6b17b4e191e55');
INSERT INTO public.audit_lines VALUES (15, '2026-11-19T21:05:06.442Z', 'operator', 'key:support', 'operator: key:support read thread cancelled of alice', 'req_d5fc1e4333cbc748cacabfe9531047b0');
INSERT INTO public.audit_lines VALUES (16, '2026-11-19T21:05:06.453Z', 'operator', 'key:support', 'operator: key:support read thread reading of alice', 'req_f02f36f0e9c23fa127658e6f6976afb2');
INSERT INTO public.audit_lines VALUES (17, '2026-11-19T21:05:06.466Z', 'operator', 'key:support', 'operator: key:support read thread hello of alice', 'req_14428cc99715a9957fae8486ca5076f8');



INSERT INTO public.files VALUES ('file_b3c98e957b8cfe2089f81ce383e59a82', 'alice', 'totals', 'reports', 'Totals by month', 'application/vnd.echarts+json', '\x7b22636f6c6f72223a5b2223333336366363222c2223653437363162222c2223326539653562222c2223633033393262222c2223376435626136222c2223306639616138222c2223623838363062222c2223643636303961222c2223356436643765222c2223386262313166225d2c227469746c65223a7b2274657874223a22546f74616c73206279206d6f6e7468227d2c22746f6f6c746970223a7b2274726967676572223a2261786973222c2272656e6465724d6f6465223a227269636854657874227d2c226c6567656e64223a7b2273686f77223a66616c73652c2274797065223a227363726f6c6c222c22746f70223a32387d2c2264617461736574223a7b2264696d656e73696f6e73223a5b226d6f6e7468222c22746f74616c225d2c22736f75726365223a5b7b226d6f6e7468223a22323032362d3031222c22746f74616c223a313230307d2c7b226d6f6e7468223a22323032362d3032222c22746f74616c223a3935307d5d7d2c2267726964223a7b22636f6e7461696e4c6162656c223a747275652c22746f70223a36347d2c227841786973223a7b2274797065223a2263617465676f7279222c226e616d65223a226d6f6e7468222c226e616d654c6f636174696f6e223a226d6964646c65222c226e616d65476170223a33327d2c227941786973223a7b2274797065223a2276616c7565222c226e616d65223a22746f74616c227d2c22736572696573223a5b7b2274797065223a22626172222c226e616d65223a22746f74616c222c22656e636f6465223a7b2278223a226d6f6e7468222c2279223a22746f74616c227d7d5d7d', '2026-11-19T21:05:01.117258Z');
INSERT INTO public.files VALUES ('resp_8f105b2b8ce7b5e8a5f48516db93245e', 'bob', 'thread_792da7c48e8f9b336e164c8e95c49b7c', 'default', 'resp_8f105b2b8ce7b5e8a5f48516db93245e', 'application/vnd.rightseat.private', '\x7b226964223a22726573705f3866313035623262386365376235653861356634383531366462393332343565222c226d6f64656c223a2264656661756c74222c227468726561645f6964223a227468726561645f3739326461376334386538663962333336653136346338653935633439623763222c22637265617465645f6174223a313739353132323330332c2274657874223a7b22666f726d6174223a7b2274797065223a2274657874227d7d2c22696e707574223a5b7b2274797065223a226d657373616765222c22726f6c65223a2275736572222c22737461747573223a22636f6d706c65746564222c22636f6e74656e74223a5b7b2274797065223a22696e7075745f74657874222c2274657874223a2248656c6c6f2066726f6d20426f622e227d5d2c226964223a226d73675f38663130356232623863653762356538613566343835313664623933323435655f6930227d5d7d', '2026-11-19T21:05:03.690354Z');
INSERT INTO public.files VALUES ('resp_aff0752ed2d3371478fff03a1196c506', 'bob', 'thread_792da7c48e8f9b336e164c8e95c49b7c', 'default', 'resp_aff0752ed2d3371478fff03a1196c506', 'application/vnd.rightseat.private', '\x7b226964223a22726573705f6166663037353265643264333337313437386666663033613131393663353036222c226d6f64656c223a2264656661756c74222c227468726561645f6964223a227468726561645f3739326461376334386538663962333336653136346338653935633439623763222c227374617274223a322c22637265617465645f6174223a313739353132323330342c2270726576696f75735f726573706f6e73655f6964223a22726573705f3866313035623262386365376235653861356634383531366462393332343565222c2274657874223a7b22666f726d6174223a7b2274797065223a2274657874227d7d2c22696e707574223a5b7b2274797065223a226d657373616765222c22726f6c65223a2275736572222c22737461747573223a22636f6d706c65746564222c22636f6e74656e74223a5b7b2274797065223a22696e7075745f74657874222c2274657874223a224f6e6365206d6f72652e227d5d2c226964223a226d73675f61666630373532656432643333373134373866666630336131313936633530365f6930227d5d7d', '2026-11-19T21:05:04.891208Z');



INSERT INTO public.interrupts VALUES ('cancelled', 'interrupt_024c19d3421ca71e197bb157f56acdb9', 'run_057df4d693d5533b1bf668d0bdb27506', 'alice', 'default', '{"id":"interrupt_024c19d3421ca71e197bb157f56acdb9","reason":"approval_required","message":"May cancel_order be run?","call_id":"call_5b0278499432e19f0948b1c4a5179c38"}', '{"type":"call","id":"call_5b0278499432e19f0948b1c4a5179c38","name":"cancel_order","arguments":"{\"number\": \"8\"}"}', '2026-11-19T21:04:59.655685Z', 0, NULL, '2026-11-19T21:04:59.986866Z');
INSERT INTO public.interrupts VALUES ('refused', 'interrupt_efedb20c91bc07c9336165dcef75a812', 'run_a28ba57bb7bfa81cbd5fd384063e8481', 'alice', 'default', '{"id":"interrupt_efedb20c91bc07c9336165dcef75a812","reason":"approval_required","message":"May cancel_order be run?","call_id":"call_f6e6d7514fc85db26354bad8637f020f"}', '{"type":"call","id":"call_f6e6d7514fc85db26354bad8637f020f","name":"cancel_order","arguments":"{\"number\": \"9\"}"}', '2026-11-19T21:05:00.097314Z', 0, NULL, '2026-11-19T21:05:00.557855Z');
INSERT INTO public.interrupts VALUES ('waiting', 'interrupt_0af2932a7888d51e4a9c7b3a7111bcb6', 'run_32e1a6a654cc85dcfa17d69f5797cff5', 'alice', 'default', '{"id":"interrupt_0af2932a7888d51e4a9c7b3a7111bcb6","reason":"approval_required","message":"May cancel_order be run?","call_id":"call_3d0f211e03c8cf86724f53c7d46a6071"}', '{"type":"call","id":"call_3d0f211e03c8cf86724f53c7d46a6071","name":"cancel_order","arguments":"{\"number\": \"10\"}"}', '2026-11-19T21:05:00.700949Z', 0, NULL, NULL);



INSERT INTO public.limit_counters VALUES ('days', 'requests/day', 'alice', '{"1795046400":[10,0]}', 1795219200, NULL);
INSERT INTO public.limit_counters VALUES ('days', 'tokens/month', 'alice', '{"1793491200":[1851,0]}', 1796169600, NULL);
INSERT INTO public.limit_counters VALUES ('days', 'requests/day', 'bob', '{"1795046400":[2,0]}', 1795219200, NULL);
INSERT INTO public.limit_counters VALUES ('days', 'tokens/month', 'bob', '{"1793491200":[472,0]}', 1796169600, NULL);
INSERT INTO public.limit_counters VALUES ('spent', 'cost/month', 'everyone', '{"1793491200":[617100,2478900]}', 1796169600, NULL);
INSERT INTO public.limit_counters VALUES ('days', 'requests/day', 'carol', '{"1795046400":[1,0]}', 1795219200, NULL);
INSERT INTO public.limit_counters VALUES ('days', 'tokens/month', 'carol', '{"1793491200":[0,4238]}', 1796169600, NULL);



INSERT INTO public.limit_holds VALUES ('hold_f80d2094db4d37bf1929e14edc0ba34d', 'run_3eff97df9bfefba96ae1837e2d93e661', 2852859479370816416, '{"id":"hold_f80d2094db4d37bf1929e14edc0ba34d","run_id":"run_3eff97df9bfefba96ae1837e2d93e661","amounts":[[["days","tokens/month","carol"],"tokens",1793491200,4238],[["spent","cost/month","everyone"],"cost",1793491200,2478900]],"usage":["carol","carol","default","default","answer"],"estimate":{"requests":1,"estimated_tokens":107,"cost":16050}}', NULL, NULL);



INSERT INTO public.log_records VALUES (1, 0, 1, 'created', 'fc22be827081d4e4');
INSERT INTO public.log_records VALUES (1, 1, 0, 'fence', 'a96338f2fc8eaf7e');
INSERT INTO public.log_records VALUES (1, 1, 3, 'events', '[{"type":"RunStarted","run_id":"run_e4b31db6f7e794464f05626cbae59f27","thread_id":"hello","agent":"default","client_run_id":"run-df081a8a85fc53a9","new_messages":[{"role":"user","parts":[{"type":"text","text":"Hello, shop. 你好！"}],"id":"question-13d7466a","extra":null}],"began_at":"2026-11-19T21:04:56.652Z","through":"copilotkit"},{"type":"SpanStarted","span":"s0","kind":"run","name":"default","at":4},{"type":"SpanStarted","span":"s1","kind":"model","name":"default","at":4,"parent":"s0","about":{"model":"Scripted"}}]');
INSERT INTO public.log_records VALUES (1, 1, 5, 'events', '[{"type":"TextStarted","message_id":"msg_56058be68526fb9ad5372c6260d55f10"},{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":"You"}]');
INSERT INTO public.log_records VALUES (1, 1, 6, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" said:"}]');
INSERT INTO public.log_records VALUES (1, 1, 7, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" “Hello,"}]');
INSERT INTO public.log_records VALUES (1, 1, 8, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" shop."}]');
INSERT INTO public.log_records VALUES (1, 1, 9, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" 你好！”"}]');
INSERT INTO public.log_records VALUES (1, 1, 10, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" I"}]');
INSERT INTO public.log_records VALUES (1, 1, 11, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" am"}]');
INSERT INTO public.log_records VALUES (1, 1, 12, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" the"}]');
INSERT INTO public.log_records VALUES (1, 1, 13, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" built-in"}]');
INSERT INTO public.log_records VALUES (1, 1, 14, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" demo"}]');
INSERT INTO public.log_records VALUES (1, 1, 15, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" model:"}]');
INSERT INTO public.log_records VALUES (1, 1, 16, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" I"}]');
INSERT INTO public.log_records VALUES (1, 1, 17, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" stream"}]');
INSERT INTO public.log_records VALUES (1, 1, 18, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" text"}]');
INSERT INTO public.log_records VALUES (1, 1, 19, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" and"}]');
INSERT INTO public.log_records VALUES (1, 1, 20, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" call"}]');
INSERT INTO public.log_records VALUES (1, 1, 21, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" tools,"}]');
INSERT INTO public.log_records VALUES (1, 1, 22, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" but"}]');
INSERT INTO public.log_records VALUES (1, 1, 23, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" I"}]');
INSERT INTO public.log_records VALUES (1, 1, 24, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" do"}]');
INSERT INTO public.log_records VALUES (1, 1, 25, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" not"}]');
INSERT INTO public.log_records VALUES (1, 1, 26, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" understand"}]');
INSERT INTO public.log_records VALUES (1, 1, 27, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" language."}]');
INSERT INTO public.log_records VALUES (1, 1, 28, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" For"}]');
INSERT INTO public.log_records VALUES (1, 1, 29, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" real"}]');
INSERT INTO public.log_records VALUES (1, 1, 30, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" answers,"}]');
INSERT INTO public.log_records VALUES (1, 1, 31, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" configure"}]');
INSERT INTO public.log_records VALUES (1, 1, 32, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" a"}]');
INSERT INTO public.log_records VALUES (1, 1, 33, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" model"}]');
INSERT INTO public.log_records VALUES (1, 1, 34, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" in"}]');
INSERT INTO public.log_records VALUES (1, 1, 35, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" rightseat.yaml"}]');
INSERT INTO public.log_records VALUES (1, 1, 36, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" (`rightseat"}]');
INSERT INTO public.log_records VALUES (1, 1, 37, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" init`"}]');
INSERT INTO public.log_records VALUES (1, 1, 38, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" writes"}]');
INSERT INTO public.log_records VALUES (1, 1, 39, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" one),"}]');
INSERT INTO public.log_records VALUES (1, 1, 40, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" or"}]');
INSERT INTO public.log_records VALUES (1, 1, 41, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" set"}]');
INSERT INTO public.log_records VALUES (1, 1, 42, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" OPENAI_API_KEY"}]');
INSERT INTO public.log_records VALUES (1, 1, 43, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" and"}]');
INSERT INTO public.log_records VALUES (1, 1, 44, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" use"}]');
INSERT INTO public.log_records VALUES (1, 1, 45, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" no"}]');
INSERT INTO public.log_records VALUES (1, 1, 46, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" file."}]');
INSERT INTO public.log_records VALUES (1, 1, 47, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" Name"}]');
INSERT INTO public.log_records VALUES (1, 1, 48, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" a"}]');
INSERT INTO public.log_records VALUES (1, 1, 49, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" tool"}]');
INSERT INTO public.log_records VALUES (1, 1, 50, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" in"}]');
INSERT INTO public.log_records VALUES (1, 1, 51, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" your"}]');
INSERT INTO public.log_records VALUES (7, 2, 21, 'events', '[{"type":"SpanEnded","span":"s1","at":318,"first":19,"reason":"stop"}]');
INSERT INTO public.log_records VALUES (1, 1, 52, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" question"}]');
INSERT INTO public.log_records VALUES (1, 1, 53, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" and"}]');
INSERT INTO public.log_records VALUES (1, 1, 54, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" I"}]');
INSERT INTO public.log_records VALUES (1, 1, 55, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" call"}]');
INSERT INTO public.log_records VALUES (1, 1, 56, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" it:"}]');
INSERT INTO public.log_records VALUES (1, 1, 57, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" read_order,"}]');
INSERT INTO public.log_records VALUES (1, 1, 58, 'events', '[{"type":"TextDelta","message_id":"msg_56058be68526fb9ad5372c6260d55f10","text":" cancel_order."}]');
INSERT INTO public.log_records VALUES (1, 1, 60, 'events', '[{"type":"TextEnded","message_id":"msg_56058be68526fb9ad5372c6260d55f10","complete":true},{"type":"ModelResponseEnded","reason":"stop","usage":null}]');
INSERT INTO public.log_records VALUES (1, 1, 61, 'events', '[{"type":"SpanEnded","span":"s1","at":1148,"first":13,"reason":"stop"}]');
INSERT INTO public.log_records VALUES (1, 1, 62, 'events', '[{"type":"SpanEnded","span":"s0","at":1149}]');
INSERT INTO public.log_records VALUES (1, 1, 63, 'events', '[{"type":"RunFinished","outcome":"done"}]');
INSERT INTO public.log_records VALUES (2, 0, 1, 'created', '70a1e0f4b87d7a09');
INSERT INTO public.log_records VALUES (1, 1, 64, 'end', '');
INSERT INTO public.log_records VALUES (2, 2, 0, 'fence', 'e5491a9853dc269a');
INSERT INTO public.log_records VALUES (2, 2, 5, 'events', '[{"type":"RunStarted","run_id":"run_50ba74391f99eb714ca4b99fda262222","thread_id":"hello","agent":"default","client_run_id":"run-d169aa8146d8c07f","new_messages":[{"role":"user","parts":[{"type":"text","text":"And again."}],"id":"question-f0c1782c","extra":null}],"began_at":"2026-11-19T21:04:57.901Z","through":"copilotkit"},{"type":"SpanStarted","span":"s0","kind":"run","name":"default","at":8},{"type":"SpanStarted","span":"s1","kind":"model","name":"default","at":8,"parent":"s0","about":{"model":"Scripted"}},{"type":"TextStarted","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05"},{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":"You"}]');
INSERT INTO public.log_records VALUES (2, 2, 6, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" said:"}]');
INSERT INTO public.log_records VALUES (2, 2, 7, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" “And"}]');
INSERT INTO public.log_records VALUES (2, 2, 8, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" again.”"}]');
INSERT INTO public.log_records VALUES (2, 2, 9, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" I"}]');
INSERT INTO public.log_records VALUES (2, 2, 10, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" am"}]');
INSERT INTO public.log_records VALUES (2, 2, 11, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" the"}]');
INSERT INTO public.log_records VALUES (2, 2, 12, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" built-in"}]');
INSERT INTO public.log_records VALUES (2, 2, 13, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" demo"}]');
INSERT INTO public.log_records VALUES (2, 2, 14, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" model:"}]');
INSERT INTO public.log_records VALUES (2, 2, 15, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" I"}]');
INSERT INTO public.log_records VALUES (2, 2, 16, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" stream"}]');
INSERT INTO public.log_records VALUES (2, 2, 17, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" text"}]');
INSERT INTO public.log_records VALUES (2, 2, 18, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" and"}]');
INSERT INTO public.log_records VALUES (2, 2, 19, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" call"}]');
INSERT INTO public.log_records VALUES (2, 2, 20, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" tools,"}]');
INSERT INTO public.log_records VALUES (2, 2, 21, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" but"}]');
INSERT INTO public.log_records VALUES (2, 2, 22, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" I"}]');
INSERT INTO public.log_records VALUES (2, 2, 23, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" do"}]');
INSERT INTO public.log_records VALUES (2, 2, 24, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" not"}]');
INSERT INTO public.log_records VALUES (2, 2, 25, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" understand"}]');
INSERT INTO public.log_records VALUES (2, 2, 26, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" language."}]');
INSERT INTO public.log_records VALUES (2, 2, 27, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" For"}]');
INSERT INTO public.log_records VALUES (2, 2, 28, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" real"}]');
INSERT INTO public.log_records VALUES (2, 2, 29, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" answers,"}]');
INSERT INTO public.log_records VALUES (2, 2, 30, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" configure"}]');
INSERT INTO public.log_records VALUES (2, 2, 31, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" a"}]');
INSERT INTO public.log_records VALUES (2, 2, 32, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" model"}]');
INSERT INTO public.log_records VALUES (2, 2, 33, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" in"}]');
INSERT INTO public.log_records VALUES (2, 2, 34, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" rightseat.yaml"}]');
INSERT INTO public.log_records VALUES (2, 2, 35, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" (`rightseat"}]');
INSERT INTO public.log_records VALUES (2, 2, 36, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" init`"}]');
INSERT INTO public.log_records VALUES (2, 2, 37, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" writes"}]');
INSERT INTO public.log_records VALUES (2, 2, 38, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" one),"}]');
INSERT INTO public.log_records VALUES (2, 2, 39, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" or"}]');
INSERT INTO public.log_records VALUES (2, 2, 40, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" set"}]');
INSERT INTO public.log_records VALUES (2, 2, 41, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" OPENAI_API_KEY"}]');
INSERT INTO public.log_records VALUES (2, 2, 42, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" and"}]');
INSERT INTO public.log_records VALUES (2, 2, 43, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" use"}]');
INSERT INTO public.log_records VALUES (2, 2, 44, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" no"}]');
INSERT INTO public.log_records VALUES (2, 2, 45, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" file."}]');
INSERT INTO public.log_records VALUES (2, 2, 46, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" Name"}]');
INSERT INTO public.log_records VALUES (2, 2, 47, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" a"}]');
INSERT INTO public.log_records VALUES (2, 2, 48, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" tool"}]');
INSERT INTO public.log_records VALUES (2, 2, 49, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" in"}]');
INSERT INTO public.log_records VALUES (2, 2, 50, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" your"}]');
INSERT INTO public.log_records VALUES (2, 2, 51, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" question"}]');
INSERT INTO public.log_records VALUES (2, 2, 52, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" and"}]');
INSERT INTO public.log_records VALUES (2, 2, 53, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" I"}]');
INSERT INTO public.log_records VALUES (2, 2, 54, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" call"}]');
INSERT INTO public.log_records VALUES (2, 2, 55, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" it:"}]');
INSERT INTO public.log_records VALUES (2, 2, 56, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" read_order,"}]');
INSERT INTO public.log_records VALUES (2, 2, 57, 'events', '[{"type":"TextDelta","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","text":" cancel_order."}]');
INSERT INTO public.log_records VALUES (2, 2, 59, 'events', '[{"type":"TextEnded","message_id":"msg_1e41ad9782823d47926b7f33ea23ee05","complete":true},{"type":"ModelResponseEnded","reason":"stop","usage":null}]');
INSERT INTO public.log_records VALUES (2, 2, 60, 'events', '[{"type":"SpanEnded","span":"s1","at":1140,"first":8,"reason":"stop"}]');
INSERT INTO public.log_records VALUES (2, 2, 61, 'events', '[{"type":"SpanEnded","span":"s0","at":1143}]');
INSERT INTO public.log_records VALUES (2, 2, 62, 'events', '[{"type":"RunFinished","outcome":"done"}]');
INSERT INTO public.log_records VALUES (2, 2, 63, 'end', '');
INSERT INTO public.log_records VALUES (3, 0, 1, 'created', '026ec54cadf2c979');
INSERT INTO public.log_records VALUES (3, 1, 0, 'fence', '516f9d8824a0646a');
INSERT INTO public.log_records VALUES (3, 1, 5, 'events', '[{"type":"RunStarted","run_id":"run_81836052c2e9c37b6b26cfe1150e152b","thread_id":"reading","agent":"default","client_run_id":"run-7fc6f0d66786a034","new_messages":[{"role":"user","parts":[{"type":"text","text":"read_order 7"}],"id":"question-acf60d83","extra":null}],"began_at":"2026-11-19T21:04:59.177Z","through":"copilotkit"},{"type":"SpanStarted","span":"s0","kind":"run","name":"default","at":11},{"type":"SpanStarted","span":"s1","kind":"model","name":"default","at":12,"parent":"s0","about":{"model":"Scripted"}},{"type":"ToolCallStarted","call_id":"call_903ec414510b8624dbd37a65270555a6","name":"read_order","message_id":null},{"type":"ToolCallDelta","call_id":"call_903ec414510b8624dbd37a65270555a6","text":"{\"number\": \"7\"}"}]');
INSERT INTO public.log_records VALUES (3, 1, 7, 'events', '[{"type":"ToolCallEnded","call_id":"call_903ec414510b8624dbd37a65270555a6","complete":true},{"type":"ModelResponseEnded","reason":"tool_calls","usage":null}]');
INSERT INTO public.log_records VALUES (3, 1, 8, 'events', '[{"type":"SpanEnded","span":"s1","at":83,"first":12,"reason":"tool_calls"}]');
INSERT INTO public.log_records VALUES (3, 1, 9, 'events', '[{"type":"SpanStarted","span":"s2","kind":"tool","name":"read_order","at":92,"parent":"s0","about":{"call":"call_903ec414510b8624dbd37a65270555a6"}}]');
INSERT INTO public.log_records VALUES (3, 1, 12, 'events', '[{"type":"SpanEnded","span":"s2","at":93},{"type":"ToolCallReturned","call_id":"call_903ec414510b8624dbd37a65270555a6","name":"read_order","content":"{\"order\":\"7\",\"state\":\"paid\"}","error":null,"message_id":null},{"type":"SpanStarted","span":"s3","kind":"model","name":"default","at":103,"parent":"s0","about":{"model":"Scripted"}}]');
INSERT INTO public.log_records VALUES (3, 1, 14, 'events', '[{"type":"TextStarted","message_id":"msg_70637f84078a54e067ade0df8be9cae5"},{"type":"TextDelta","message_id":"msg_70637f84078a54e067ade0df8be9cae5","text":"The"}]');
INSERT INTO public.log_records VALUES (3, 1, 15, 'events', '[{"type":"TextDelta","message_id":"msg_70637f84078a54e067ade0df8be9cae5","text":" tool"}]');
INSERT INTO public.log_records VALUES (3, 1, 16, 'events', '[{"type":"TextDelta","message_id":"msg_70637f84078a54e067ade0df8be9cae5","text":" read_order"}]');
INSERT INTO public.log_records VALUES (3, 1, 17, 'events', '[{"type":"TextDelta","message_id":"msg_70637f84078a54e067ade0df8be9cae5","text":" returned:"}]');
INSERT INTO public.log_records VALUES (3, 1, 18, 'events', '[{"type":"TextDelta","message_id":"msg_70637f84078a54e067ade0df8be9cae5","text":" {\"order\":\"7\",\"state\":\"paid\"}"}]');
INSERT INTO public.log_records VALUES (3, 1, 20, 'events', '[{"type":"TextEnded","message_id":"msg_70637f84078a54e067ade0df8be9cae5","complete":true},{"type":"ModelResponseEnded","reason":"stop","usage":null}]');
INSERT INTO public.log_records VALUES (3, 1, 21, 'events', '[{"type":"SpanEnded","span":"s3","at":244,"first":108,"reason":"stop"}]');
INSERT INTO public.log_records VALUES (3, 1, 22, 'events', '[{"type":"SpanEnded","span":"s0","at":245}]');
INSERT INTO public.log_records VALUES (3, 1, 23, 'events', '[{"type":"RunFinished","outcome":"done"}]');
INSERT INTO public.log_records VALUES (3, 1, 24, 'end', '');
INSERT INTO public.log_records VALUES (4, 0, 1, 'created', 'b8ba506bba6ce3df');
INSERT INTO public.log_records VALUES (4, 1, 0, 'fence', '39f1543f3ffb1afa');
INSERT INTO public.log_records VALUES (4, 1, 5, 'events', '[{"type":"RunStarted","run_id":"run_057df4d693d5533b1bf668d0bdb27506","thread_id":"cancelled","agent":"default","client_run_id":"run-68d2de70630dc22c","new_messages":[{"role":"user","parts":[{"type":"text","text":"cancel_order 8"}],"id":"question-1c088f14","extra":null}],"began_at":"2026-11-19T21:04:59.519Z","through":"copilotkit"},{"type":"SpanStarted","span":"s0","kind":"run","name":"default","at":14},{"type":"SpanStarted","span":"s1","kind":"model","name":"default","at":15,"parent":"s0","about":{"model":"Scripted"}},{"type":"ToolCallStarted","call_id":"call_5b0278499432e19f0948b1c4a5179c38","name":"cancel_order","message_id":null},{"type":"ToolCallDelta","call_id":"call_5b0278499432e19f0948b1c4a5179c38","text":"{\"number\": \"8\"}"}]');
INSERT INTO public.log_records VALUES (4, 1, 7, 'events', '[{"type":"ToolCallEnded","call_id":"call_5b0278499432e19f0948b1c4a5179c38","complete":true},{"type":"ModelResponseEnded","reason":"tool_calls","usage":null}]');
INSERT INTO public.log_records VALUES (4, 1, 8, 'events', '[{"type":"SpanEnded","span":"s1","at":71,"first":15,"reason":"tool_calls"}]');
INSERT INTO public.log_records VALUES (4, 1, 9, 'events', '[{"type":"SpanEnded","span":"s0","at":71}]');
INSERT INTO public.log_records VALUES (7, 2, 22, 'events', '[{"type":"SpanEnded","span":"s0","at":319}]');
INSERT INTO public.log_records VALUES (4, 1, 10, 'events', '[{"type":"RunFinished","outcome":"waiting","interrupts":[{"id":"interrupt_024c19d3421ca71e197bb157f56acdb9","reason":"approval_required","message":"May cancel_order be run?","call_id":"call_5b0278499432e19f0948b1c4a5179c38"}]}]');
INSERT INTO public.log_records VALUES (4, 1, 11, 'end', '');
INSERT INTO public.log_records VALUES (5, 0, 1, 'created', 'bfbdad45bd3bb44f');
INSERT INTO public.log_records VALUES (5, 2, 0, 'fence', '935a86f1f4ddb134');
INSERT INTO public.log_records VALUES (5, 2, 2, 'events', '[{"type":"RunStarted","run_id":"run_fa5de17e50b8fb06a70a86abfe6693a8","thread_id":"cancelled","agent":"default","began_at":"2026-11-19T21:04:59.746Z","through":"copilotkit","answered":[{"interrupt_id":"interrupt_024c19d3421ca71e197bb157f56acdb9","status":"resolved","by":"alice"}]},{"type":"SpanStarted","span":"s0","kind":"run","name":"default","at":8}]');
INSERT INTO public.log_records VALUES (5, 2, 3, 'events', '[{"type":"SpanStarted","span":"s1","kind":"tool","name":"cancel_order","at":47,"parent":"s0","about":{"call":"call_5b0278499432e19f0948b1c4a5179c38"}}]');
INSERT INTO public.log_records VALUES (5, 2, 6, 'events', '[{"type":"SpanEnded","span":"s1","at":48},{"type":"ToolCallReturned","call_id":"call_5b0278499432e19f0948b1c4a5179c38","name":"cancel_order","content":"{\"order\":\"8\",\"state\":\"cancelled\"}","error":null,"message_id":null},{"type":"SpanStarted","span":"s2","kind":"model","name":"default","at":52,"parent":"s0","about":{"model":"Scripted"}}]');
INSERT INTO public.log_records VALUES (5, 2, 8, 'events', '[{"type":"TextStarted","message_id":"msg_ccf0a80e50f306a1c23754f567277358"},{"type":"TextDelta","message_id":"msg_ccf0a80e50f306a1c23754f567277358","text":"The"}]');
INSERT INTO public.log_records VALUES (5, 2, 9, 'events', '[{"type":"TextDelta","message_id":"msg_ccf0a80e50f306a1c23754f567277358","text":" tool"}]');
INSERT INTO public.log_records VALUES (5, 2, 10, 'events', '[{"type":"TextDelta","message_id":"msg_ccf0a80e50f306a1c23754f567277358","text":" cancel_order"}]');
INSERT INTO public.log_records VALUES (5, 2, 11, 'events', '[{"type":"TextDelta","message_id":"msg_ccf0a80e50f306a1c23754f567277358","text":" returned:"}]');
INSERT INTO public.log_records VALUES (5, 2, 12, 'events', '[{"type":"TextDelta","message_id":"msg_ccf0a80e50f306a1c23754f567277358","text":" {\"order\":\"8\",\"state\":\"cancelled\"}"}]');
INSERT INTO public.log_records VALUES (5, 2, 14, 'events', '[{"type":"TextEnded","message_id":"msg_ccf0a80e50f306a1c23754f567277358","complete":true},{"type":"ModelResponseEnded","reason":"stop","usage":null}]');
INSERT INTO public.log_records VALUES (5, 2, 15, 'events', '[{"type":"SpanEnded","span":"s2","at":187,"first":56,"reason":"stop"}]');
INSERT INTO public.log_records VALUES (5, 2, 16, 'events', '[{"type":"SpanEnded","span":"s0","at":187}]');
INSERT INTO public.log_records VALUES (5, 2, 17, 'events', '[{"type":"RunFinished","outcome":"done"}]');
INSERT INTO public.log_records VALUES (6, 0, 1, 'created', '1df457e739ea0f63');
INSERT INTO public.log_records VALUES (5, 2, 18, 'end', '');
INSERT INTO public.log_records VALUES (6, 1, 0, 'fence', '38bdaccc5adc07e9');
INSERT INTO public.log_records VALUES (6, 1, 5, 'events', '[{"type":"RunStarted","run_id":"run_a28ba57bb7bfa81cbd5fd384063e8481","thread_id":"refused","agent":"default","client_run_id":"run-1062bd807aa636df","new_messages":[{"role":"user","parts":[{"type":"text","text":"cancel_order 9"}],"id":"question-7df19f42","extra":null}],"began_at":"2026-11-19T21:04:59.986Z","through":"copilotkit"},{"type":"SpanStarted","span":"s0","kind":"run","name":"default","at":3},{"type":"SpanStarted","span":"s1","kind":"model","name":"default","at":4,"parent":"s0","about":{"model":"Scripted"}},{"type":"ToolCallStarted","call_id":"call_f6e6d7514fc85db26354bad8637f020f","name":"cancel_order","message_id":null},{"type":"ToolCallDelta","call_id":"call_f6e6d7514fc85db26354bad8637f020f","text":"{\"number\": \"9\"}"}]');
INSERT INTO public.log_records VALUES (6, 1, 7, 'events', '[{"type":"ToolCallEnded","call_id":"call_f6e6d7514fc85db26354bad8637f020f","complete":true},{"type":"ModelResponseEnded","reason":"tool_calls","usage":null}]');
INSERT INTO public.log_records VALUES (6, 1, 8, 'events', '[{"type":"SpanEnded","span":"s1","at":63,"first":4,"reason":"tool_calls"}]');
INSERT INTO public.log_records VALUES (6, 1, 9, 'events', '[{"type":"SpanEnded","span":"s0","at":64}]');
INSERT INTO public.log_records VALUES (6, 1, 10, 'events', '[{"type":"RunFinished","outcome":"waiting","interrupts":[{"id":"interrupt_efedb20c91bc07c9336165dcef75a812","reason":"approval_required","message":"May cancel_order be run?","call_id":"call_f6e6d7514fc85db26354bad8637f020f"}]}]');
INSERT INTO public.log_records VALUES (6, 1, 11, 'end', '');
INSERT INTO public.log_records VALUES (7, 0, 1, 'created', '327ed550e9c1b61c');
INSERT INTO public.log_records VALUES (7, 2, 0, 'fence', 'a9e208a7bec4999a');
INSERT INTO public.log_records VALUES (7, 2, 4, 'events', '[{"type":"RunStarted","run_id":"run_50a05882e16e6039af08f0ee4d47169c","thread_id":"refused","agent":"default","began_at":"2026-11-19T21:05:00.174Z","through":"copilotkit","answered":[{"interrupt_id":"interrupt_efedb20c91bc07c9336165dcef75a812","status":"resolved","by":"alice"}]},{"type":"SpanStarted","span":"s0","kind":"run","name":"default","at":5},{"type":"ToolCallReturned","call_id":"call_f6e6d7514fc85db26354bad8637f020f","name":"cancel_order","content":"The user denied the call. It was not run.","error":"refused","message_id":null},{"type":"SpanStarted","span":"s1","kind":"model","name":"default","at":5,"parent":"s0","about":{"model":"Scripted"}}]');
INSERT INTO public.log_records VALUES (7, 2, 6, 'events', '[{"type":"TextStarted","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3"},{"type":"TextDelta","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","text":"The"}]');
INSERT INTO public.log_records VALUES (7, 2, 7, 'events', '[{"type":"TextDelta","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","text":" tool"}]');
INSERT INTO public.log_records VALUES (7, 2, 8, 'events', '[{"type":"TextDelta","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","text":" cancel_order"}]');
INSERT INTO public.log_records VALUES (7, 2, 9, 'events', '[{"type":"TextDelta","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","text":" returned:"}]');
INSERT INTO public.log_records VALUES (7, 2, 10, 'events', '[{"type":"TextDelta","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","text":" The"}]');
INSERT INTO public.log_records VALUES (7, 2, 11, 'events', '[{"type":"TextDelta","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","text":" user"}]');
INSERT INTO public.log_records VALUES (7, 2, 12, 'events', '[{"type":"TextDelta","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","text":" denied"}]');
INSERT INTO public.log_records VALUES (7, 2, 13, 'events', '[{"type":"TextDelta","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","text":" the"}]');
INSERT INTO public.log_records VALUES (7, 2, 14, 'events', '[{"type":"TextDelta","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","text":" call."}]');
INSERT INTO public.log_records VALUES (7, 2, 15, 'events', '[{"type":"TextDelta","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","text":" It"}]');
INSERT INTO public.log_records VALUES (7, 2, 16, 'events', '[{"type":"TextDelta","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","text":" was"}]');
INSERT INTO public.log_records VALUES (7, 2, 17, 'events', '[{"type":"TextDelta","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","text":" not"}]');
INSERT INTO public.log_records VALUES (7, 2, 18, 'events', '[{"type":"TextDelta","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","text":" run."}]');
INSERT INTO public.log_records VALUES (7, 2, 20, 'events', '[{"type":"TextEnded","message_id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","complete":true},{"type":"ModelResponseEnded","reason":"stop","usage":null}]');
INSERT INTO public.log_records VALUES (8, 0, 1, 'created', '5a3969f6dc8897f5');
INSERT INTO public.log_records VALUES (7, 2, 23, 'events', '[{"type":"RunFinished","outcome":"done"}]');
INSERT INTO public.log_records VALUES (7, 2, 24, 'end', '');
INSERT INTO public.log_records VALUES (8, 1, 11, 'end', '');
INSERT INTO public.log_records VALUES (8, 1, 0, 'fence', '3a6ac0dc1bf666be');
INSERT INTO public.log_records VALUES (8, 1, 5, 'events', '[{"type":"RunStarted","run_id":"run_32e1a6a654cc85dcfa17d69f5797cff5","thread_id":"waiting","agent":"default","client_run_id":"run-a0fd20cac1fc9df7","new_messages":[{"role":"user","parts":[{"type":"text","text":"cancel_order 10"}],"id":"question-ff4e5528","extra":null}],"began_at":"2026-11-19T21:05:00.577Z","through":"copilotkit"},{"type":"SpanStarted","span":"s0","kind":"run","name":"default","at":8},{"type":"SpanStarted","span":"s1","kind":"model","name":"default","at":8,"parent":"s0","about":{"model":"Scripted"}},{"type":"ToolCallStarted","call_id":"call_3d0f211e03c8cf86724f53c7d46a6071","name":"cancel_order","message_id":null},{"type":"ToolCallDelta","call_id":"call_3d0f211e03c8cf86724f53c7d46a6071","text":"{\"number\": \"10\"}"}]');
INSERT INTO public.log_records VALUES (8, 1, 7, 'events', '[{"type":"ToolCallEnded","call_id":"call_3d0f211e03c8cf86724f53c7d46a6071","complete":true},{"type":"ModelResponseEnded","reason":"tool_calls","usage":null}]');
INSERT INTO public.log_records VALUES (8, 1, 8, 'events', '[{"type":"SpanEnded","span":"s1","at":75,"first":8,"reason":"tool_calls"}]');
INSERT INTO public.log_records VALUES (8, 1, 9, 'events', '[{"type":"SpanEnded","span":"s0","at":76}]');
INSERT INTO public.log_records VALUES (8, 1, 10, 'events', '[{"type":"RunFinished","outcome":"waiting","interrupts":[{"id":"interrupt_0af2932a7888d51e4a9c7b3a7111bcb6","reason":"approval_required","message":"May cancel_order be run?","call_id":"call_3d0f211e03c8cf86724f53c7d46a6071"}]}]');
INSERT INTO public.log_records VALUES (9, 0, 1, 'created', '31f00076a8e80a35');
INSERT INTO public.log_records VALUES (9, 1, 0, 'fence', 'dc6a91acefbf1b6d');
INSERT INTO public.log_records VALUES (9, 1, 6, 'events', '[{"type":"RunStarted","run_id":"run_64447092815e19679ad4e9e7cbf894e4","thread_id":"totals","agent":"reports","client_run_id":"run-d3ce392fdd2f2391","new_messages":[{"role":"user","parts":[{"type":"text","text":"The totals of the orders"}],"id":"question-50438c3f","extra":null}],"began_at":"2026-11-19T21:05:00.709Z","through":"copilotkit"},{"type":"SpanStarted","span":"s0","kind":"run","name":"reports","at":8},{"type":"Custom","name":"flow.chosen","value":{"plugin":{"id":"orders","version":"1.0.0","digest":"47b0dff017ab369e8ca5ddc69f76fc3c8a0b717757bafc6ac7a5de1d7f2c1624"},"flow":"totals","candidates":["orders.totals"],"why":"the request names it"}},{"type":"Custom","name":"flow.started","value":{"plugin":{"id":"orders","version":"1.0.0","digest":"47b0dff017ab369e8ca5ddc69f76fc3c8a0b717757bafc6ac7a5de1d7f2c1624"},"flow":"totals","language":"en"}},{"type":"StepStarted","name":"start"},{"type":"SpanStarted","span":"s1","kind":"step","name":"start","at":9,"parent":"s0","about":{"flow":"totals","plugin":"orders"}}]');
INSERT INTO public.log_records VALUES (9, 1, 7, 'events', '[{"type":"Custom","name":"flow.step","value":{"event":"input","step":"start","call":"lib.order_totals","value":{"tool":"order_totals","plugin":"orders","arguments":{},"origins":{},"files":[]}}}]');
INSERT INTO public.log_records VALUES (9, 1, 13, 'events', '[{"type":"Custom","name":"flow.step","value":{"event":"output","step":"start","call":"lib.order_totals","value":{"output":[{"month":"2026-01","total":1200},{"month":"2026-02","total":950}],"message":"","artifacts":[],"usage":{"milliseconds":158},"record":{"tool":"order_totals","params":{}},"next":"draw"}}},{"type":"SpanEnded","span":"s1","at":404},{"type":"StepEnded","name":"start"},{"type":"StepStarted","name":"draw"},{"type":"Custom","name":"flow.step","value":{"event":"input","step":"draw","call":"render","value":{}}},{"type":"SpanStarted","span":"s2","kind":"step","name":"draw","at":404,"parent":"s0","about":{"flow":"totals","plugin":"orders"}}]');
INSERT INTO public.log_records VALUES (9, 1, 25, 'events', '[{"type":"Custom","name":"flow.step","value":{"event":"output","step":"draw","call":"render","value":{"output":{"color":["#3366cc","#e4761b","#2e9e5b","#c0392b","#7d5ba6","#0f9aa8","#b8860b","#d6609a","#5d6d7e","#8bb11f"],"title":{"text":"Totals by month"},"tooltip":{"trigger":"axis","renderMode":"richText"},"legend":{"show":false,"type":"scroll","top":28},"dataset":{"dimensions":["month","total"],"source":[{"month":"2026-01","total":1200},{"month":"2026-02","total":950}]},"grid":{"containLabel":true,"top":64},"xAxis":{"type":"category","name":"month","nameLocation":"middle","nameGap":32},"yAxis":{"type":"value","name":"total"},"series":[{"type":"bar","name":"total","encode":{"x":"month","y":"total"}}]},"message":"A bar chart: Totals by month.","artifacts":[{"name":"Totals by month","kind":"chart","id":"file_b3c98e957b8cfe2089f81ce383e59a82"}],"usage":{"milliseconds":9},"record":{"notes":[]},"next":"end"}}},{"type":"Custom","name":"artifact","value":{"kind":"chart","name":"Totals by month","media_type":"application/vnd.echarts+json","id":"file_b3c98e957b8cfe2089f81ce383e59a82","size":601,"option":{"color":["#3366cc","#e4761b","#2e9e5b","#c0392b","#7d5ba6","#0f9aa8","#b8860b","#d6609a","#5d6d7e","#8bb11f"],"title":{"text":"Totals by month"},"tooltip":{"trigger":"axis","renderMode":"richText"},"legend":{"show":false,"type":"scroll","top":28},"dataset":{"dimensions":["month","total"],"source":[{"month":"2026-01","total":1200},{"month":"2026-02","total":950}]},"grid":{"containLabel":true,"top":64},"xAxis":{"type":"category","name":"month","nameLocation":"middle","nameGap":32},"yAxis":{"type":"value","name":"total"},"series":[{"type":"bar","name":"total","encode":{"x":"month","y":"total"}}]}}},{"type":"SpanEnded","span":"s2","at":414},{"type":"StepEnded","name":"draw"},{"type":"StepStarted","name":"end"},{"type":"Custom","name":"flow.step","value":{"event":"input","step":"end","call":"none","value":{}}},{"type":"SpanStarted","span":"s3","kind":"step","name":"end","at":415,"parent":"s0","about":{"flow":"totals","plugin":"orders"}},{"type":"Custom","name":"flow.step","value":{"event":"output","step":"end","call":"none","value":{"output":null,"message":"","artifacts":[],"usage":{},"record":{},"next":null}}},{"type":"SpanEnded","span":"s3","at":415},{"type":"StepEnded","name":"end"},{"type":"SpanStarted","span":"s4","kind":"step","name":"answer","at":416,"parent":"s0","about":{"flow":"totals","plugin":"orders"}},{"type":"SpanStarted","span":"s5","kind":"model","name":"default","at":417,"parent":"s4","about":{"model":"Scripted"}}]');
INSERT INTO public.log_records VALUES (9, 1, 27, 'events', '[{"type":"TextStarted","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe"},{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":"You"}]');
INSERT INTO public.log_records VALUES (9, 1, 28, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" said:"}]');
INSERT INTO public.log_records VALUES (9, 1, 29, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" “The"}]');
INSERT INTO public.log_records VALUES (9, 1, 30, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" totals"}]');
INSERT INTO public.log_records VALUES (9, 1, 31, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" of"}]');
INSERT INTO public.log_records VALUES (9, 1, 32, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" the"}]');
INSERT INTO public.log_records VALUES (9, 1, 33, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" orders"}]');
INSERT INTO public.log_records VALUES (9, 1, 34, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":"\n\nData:"}]');
INSERT INTO public.log_records VALUES (9, 1, 35, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":"\n<data"}]');
INSERT INTO public.log_records VALUES (9, 1, 36, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" source=\"step:start\">[{\"month\":\"2026-01\",\"total\":1200},{\"month\":\"2026-02\",\"total\":950}]</data>"}]');
INSERT INTO public.log_records VALUES (9, 1, 37, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":"\n\nWhat"}]');
INSERT INTO public.log_records VALUES (9, 1, 38, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" happened:"}]');
INSERT INTO public.log_records VALUES (9, 1, 39, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":"\nstart"}]');
INSERT INTO public.log_records VALUES (9, 1, 40, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" (lib.order_totals):"}]');
INSERT INTO public.log_records VALUES (9, 1, 41, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":"\ndraw"}]');
INSERT INTO public.log_records VALUES (9, 1, 42, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" (render):"}]');
INSERT INTO public.log_records VALUES (9, 1, 43, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" A"}]');
INSERT INTO public.log_records VALUES (9, 1, 44, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" bar"}]');
INSERT INTO public.log_records VALUES (9, 1, 45, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" chart:"}]');
INSERT INTO public.log_records VALUES (9, 1, 46, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" Totals"}]');
INSERT INTO public.log_records VALUES (9, 1, 47, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" by"}]');
INSERT INTO public.log_records VALUES (9, 1, 48, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" month."}]');
INSERT INTO public.log_records VALUES (9, 1, 49, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":"\nend"}]');
INSERT INTO public.log_records VALUES (9, 1, 50, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" (none):”"}]');
INSERT INTO public.log_records VALUES (9, 1, 51, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" I"}]');
INSERT INTO public.log_records VALUES (9, 1, 52, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" am"}]');
INSERT INTO public.log_records VALUES (9, 1, 53, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" the"}]');
INSERT INTO public.log_records VALUES (9, 1, 54, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" built-in"}]');
INSERT INTO public.log_records VALUES (9, 1, 55, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" demo"}]');
INSERT INTO public.log_records VALUES (9, 1, 56, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" model:"}]');
INSERT INTO public.log_records VALUES (9, 1, 57, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" I"}]');
INSERT INTO public.log_records VALUES (9, 1, 58, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" stream"}]');
INSERT INTO public.log_records VALUES (9, 1, 59, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" text"}]');
INSERT INTO public.log_records VALUES (9, 1, 60, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" and"}]');
INSERT INTO public.log_records VALUES (9, 1, 61, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" call"}]');
INSERT INTO public.log_records VALUES (9, 1, 62, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" tools,"}]');
INSERT INTO public.log_records VALUES (9, 1, 63, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" but"}]');
INSERT INTO public.log_records VALUES (9, 1, 64, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" I"}]');
INSERT INTO public.log_records VALUES (9, 1, 65, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" do"}]');
INSERT INTO public.log_records VALUES (9, 1, 66, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" not"}]');
INSERT INTO public.log_records VALUES (9, 1, 67, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" understand"}]');
INSERT INTO public.log_records VALUES (9, 1, 68, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" language."}]');
INSERT INTO public.log_records VALUES (9, 1, 69, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" For"}]');
INSERT INTO public.log_records VALUES (9, 1, 70, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" real"}]');
INSERT INTO public.log_records VALUES (9, 1, 71, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" answers,"}]');
INSERT INTO public.log_records VALUES (9, 1, 72, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" configure"}]');
INSERT INTO public.log_records VALUES (9, 1, 73, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" a"}]');
INSERT INTO public.log_records VALUES (9, 1, 74, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" model"}]');
INSERT INTO public.log_records VALUES (9, 1, 75, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" in"}]');
INSERT INTO public.log_records VALUES (9, 1, 76, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" rightseat.yaml"}]');
INSERT INTO public.log_records VALUES (9, 1, 77, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" (`rightseat"}]');
INSERT INTO public.log_records VALUES (9, 1, 78, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" init`"}]');
INSERT INTO public.log_records VALUES (9, 1, 79, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" writes"}]');
INSERT INTO public.log_records VALUES (9, 1, 80, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" one),"}]');
INSERT INTO public.log_records VALUES (9, 1, 81, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" or"}]');
INSERT INTO public.log_records VALUES (9, 1, 82, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" set"}]');
INSERT INTO public.log_records VALUES (9, 1, 83, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" OPENAI_API_KEY"}]');
INSERT INTO public.log_records VALUES (9, 1, 84, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" and"}]');
INSERT INTO public.log_records VALUES (9, 1, 85, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" use"}]');
INSERT INTO public.log_records VALUES (9, 1, 86, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" no"}]');
INSERT INTO public.log_records VALUES (9, 1, 87, 'events', '[{"type":"TextDelta","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","text":" file."}]');
INSERT INTO public.log_records VALUES (9, 1, 92, 'events', '[{"type":"SpanEnded","span":"s5","at":1687,"first":422,"reason":"stop"},{"type":"TextEnded","message_id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","complete":true},{"type":"ModelResponseEnded","reason":"stop","usage":null},{"type":"SpanEnded","span":"s4","at":1688},{"type":"Custom","name":"flow.finished","value":{"flow":"totals","status":"succeeded","path":["start","draw","end"],"usage":{"milliseconds":1673}}}]');
INSERT INTO public.log_records VALUES (9, 1, 93, 'events', '[{"type":"SpanEnded","span":"s0","at":1690}]');
INSERT INTO public.log_records VALUES (9, 1, 94, 'events', '[{"type":"RunFinished","outcome":"done"}]');
INSERT INTO public.log_records VALUES (10, 0, 1, 'created', 'e9d9c6ff294bb0c4');
INSERT INTO public.log_records VALUES (9, 1, 95, 'end', '');
INSERT INTO public.log_records VALUES (10, 1, 0, 'fence', 'e05421fdd2fa87b5');
INSERT INTO public.log_records VALUES (10, 1, 5, 'events', '[{"type":"RunStarted","run_id":"run_0ed8ee7fc1a01aafcd01310c9284c325","thread_id":"archived","agent":"default","client_run_id":"run-d6fa6c52f96d8f88","new_messages":[{"role":"user","parts":[{"type":"text","text":"Hello for the archive."}],"id":"question-23fb6c19","extra":null}],"began_at":"2026-11-19T21:05:02.463Z","through":"copilotkit"},{"type":"SpanStarted","span":"s0","kind":"run","name":"default","at":4},{"type":"SpanStarted","span":"s1","kind":"model","name":"default","at":4,"parent":"s0","about":{"model":"Scripted"}},{"type":"TextStarted","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee"},{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":"You"}]');
INSERT INTO public.log_records VALUES (10, 1, 6, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" said:"}]');
INSERT INTO public.log_records VALUES (10, 1, 7, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" “Hello"}]');
INSERT INTO public.log_records VALUES (10, 1, 8, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" for"}]');
INSERT INTO public.log_records VALUES (10, 1, 9, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" the"}]');
INSERT INTO public.log_records VALUES (10, 1, 10, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" archive.”"}]');
INSERT INTO public.log_records VALUES (10, 1, 11, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" I"}]');
INSERT INTO public.log_records VALUES (10, 1, 12, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" am"}]');
INSERT INTO public.log_records VALUES (10, 1, 13, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" the"}]');
INSERT INTO public.log_records VALUES (10, 1, 14, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" built-in"}]');
INSERT INTO public.log_records VALUES (10, 1, 15, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" demo"}]');
INSERT INTO public.log_records VALUES (10, 1, 16, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" model:"}]');
INSERT INTO public.log_records VALUES (10, 1, 17, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" I"}]');
INSERT INTO public.log_records VALUES (10, 1, 18, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" stream"}]');
INSERT INTO public.log_records VALUES (10, 1, 19, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" text"}]');
INSERT INTO public.log_records VALUES (10, 1, 20, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" and"}]');
INSERT INTO public.log_records VALUES (10, 1, 21, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" call"}]');
INSERT INTO public.log_records VALUES (10, 1, 22, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" tools,"}]');
INSERT INTO public.log_records VALUES (10, 1, 23, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" but"}]');
INSERT INTO public.log_records VALUES (10, 1, 24, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" I"}]');
INSERT INTO public.log_records VALUES (10, 1, 25, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" do"}]');
INSERT INTO public.log_records VALUES (10, 1, 26, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" not"}]');
INSERT INTO public.log_records VALUES (10, 1, 27, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" understand"}]');
INSERT INTO public.log_records VALUES (10, 1, 28, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" language."}]');
INSERT INTO public.log_records VALUES (10, 1, 29, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" For"}]');
INSERT INTO public.log_records VALUES (10, 1, 30, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" real"}]');
INSERT INTO public.log_records VALUES (10, 1, 31, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" answers,"}]');
INSERT INTO public.log_records VALUES (10, 1, 32, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" configure"}]');
INSERT INTO public.log_records VALUES (10, 1, 33, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" a"}]');
INSERT INTO public.log_records VALUES (10, 1, 34, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" model"}]');
INSERT INTO public.log_records VALUES (10, 1, 35, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" in"}]');
INSERT INTO public.log_records VALUES (10, 1, 36, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" rightseat.yaml"}]');
INSERT INTO public.log_records VALUES (10, 1, 37, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" (`rightseat"}]');
INSERT INTO public.log_records VALUES (10, 1, 38, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" init`"}]');
INSERT INTO public.log_records VALUES (10, 1, 39, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" writes"}]');
INSERT INTO public.log_records VALUES (10, 1, 40, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" one),"}]');
INSERT INTO public.log_records VALUES (10, 1, 41, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" or"}]');
INSERT INTO public.log_records VALUES (10, 1, 42, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" set"}]');
INSERT INTO public.log_records VALUES (10, 1, 43, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" OPENAI_API_KEY"}]');
INSERT INTO public.log_records VALUES (10, 1, 44, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" and"}]');
INSERT INTO public.log_records VALUES (10, 1, 45, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" use"}]');
INSERT INTO public.log_records VALUES (10, 1, 46, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" no"}]');
INSERT INTO public.log_records VALUES (10, 1, 47, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" file."}]');
INSERT INTO public.log_records VALUES (10, 1, 48, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" Name"}]');
INSERT INTO public.log_records VALUES (10, 1, 49, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" a"}]');
INSERT INTO public.log_records VALUES (10, 1, 50, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" tool"}]');
INSERT INTO public.log_records VALUES (10, 1, 51, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" in"}]');
INSERT INTO public.log_records VALUES (10, 1, 52, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" your"}]');
INSERT INTO public.log_records VALUES (10, 1, 53, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" question"}]');
INSERT INTO public.log_records VALUES (10, 1, 54, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" and"}]');
INSERT INTO public.log_records VALUES (10, 1, 55, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" I"}]');
INSERT INTO public.log_records VALUES (10, 1, 56, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" call"}]');
INSERT INTO public.log_records VALUES (10, 1, 57, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" it:"}]');
INSERT INTO public.log_records VALUES (10, 1, 58, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" read_order,"}]');
INSERT INTO public.log_records VALUES (10, 1, 59, 'events', '[{"type":"TextDelta","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","text":" cancel_order."}]');
INSERT INTO public.log_records VALUES (10, 1, 61, 'events', '[{"type":"TextEnded","message_id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","complete":true},{"type":"ModelResponseEnded","reason":"stop","usage":null}]');
INSERT INTO public.log_records VALUES (10, 1, 62, 'events', '[{"type":"SpanEnded","span":"s1","at":1158,"first":5,"reason":"stop"}]');
INSERT INTO public.log_records VALUES (10, 1, 63, 'events', '[{"type":"SpanEnded","span":"s0","at":1159}]');
INSERT INTO public.log_records VALUES (10, 1, 64, 'events', '[{"type":"RunFinished","outcome":"done"}]');
INSERT INTO public.log_records VALUES (10, 1, 65, 'end', '');
INSERT INTO public.log_records VALUES (11, 0, 1, 'created', '9a85dd45d1772dea');
INSERT INTO public.log_records VALUES (11, 1, 0, 'fence', '4c0d2502b7b050ee');
INSERT INTO public.log_records VALUES (11, 1, 5, 'events', '[{"type":"RunStarted","run_id":"run_8f105b2b8ce7b5e8a5f48516db93245e","thread_id":"thread_792da7c48e8f9b336e164c8e95c49b7c","agent":"default","new_messages":[{"role":"user","parts":[{"type":"text","text":"Hello from Bob."}],"id":"msg_d75559ccf44d8170df6d32bde5c631e0","extra":null}],"began_at":"2026-11-19T21:05:03.694Z","through":"openai"},{"type":"SpanStarted","span":"s0","kind":"run","name":"default","at":1},{"type":"SpanStarted","span":"s1","kind":"model","name":"default","at":1,"parent":"s0","about":{"model":"Scripted"}},{"type":"TextStarted","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0"},{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":"You"}]');
INSERT INTO public.log_records VALUES (11, 1, 6, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" said:"}]');
INSERT INTO public.log_records VALUES (11, 1, 7, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" “Hello"}]');
INSERT INTO public.log_records VALUES (11, 1, 8, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" from"}]');
INSERT INTO public.log_records VALUES (11, 1, 9, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" Bob.”"}]');
INSERT INTO public.log_records VALUES (11, 1, 10, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" I"}]');
INSERT INTO public.log_records VALUES (11, 1, 11, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" am"}]');
INSERT INTO public.log_records VALUES (11, 1, 12, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" the"}]');
INSERT INTO public.log_records VALUES (11, 1, 13, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" built-in"}]');
INSERT INTO public.log_records VALUES (11, 1, 14, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" demo"}]');
INSERT INTO public.log_records VALUES (11, 1, 15, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" model:"}]');
INSERT INTO public.log_records VALUES (11, 1, 16, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" I"}]');
INSERT INTO public.log_records VALUES (11, 1, 17, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" stream"}]');
INSERT INTO public.log_records VALUES (11, 1, 18, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" text"}]');
INSERT INTO public.log_records VALUES (11, 1, 19, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" and"}]');
INSERT INTO public.log_records VALUES (11, 1, 20, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" call"}]');
INSERT INTO public.log_records VALUES (11, 1, 21, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" tools,"}]');
INSERT INTO public.log_records VALUES (11, 1, 22, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" but"}]');
INSERT INTO public.log_records VALUES (11, 1, 23, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" I"}]');
INSERT INTO public.log_records VALUES (11, 1, 24, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" do"}]');
INSERT INTO public.log_records VALUES (11, 1, 25, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" not"}]');
INSERT INTO public.log_records VALUES (11, 1, 26, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" understand"}]');
INSERT INTO public.log_records VALUES (11, 1, 27, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" language."}]');
INSERT INTO public.log_records VALUES (11, 1, 28, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" For"}]');
INSERT INTO public.log_records VALUES (11, 1, 29, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" real"}]');
INSERT INTO public.log_records VALUES (11, 1, 30, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" answers,"}]');
INSERT INTO public.log_records VALUES (11, 1, 31, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" configure"}]');
INSERT INTO public.log_records VALUES (11, 1, 32, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" a"}]');
INSERT INTO public.log_records VALUES (11, 1, 33, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" model"}]');
INSERT INTO public.log_records VALUES (11, 1, 34, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" in"}]');
INSERT INTO public.log_records VALUES (11, 1, 35, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" rightseat.yaml"}]');
INSERT INTO public.log_records VALUES (11, 1, 36, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" (`rightseat"}]');
INSERT INTO public.log_records VALUES (11, 1, 37, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" init`"}]');
INSERT INTO public.log_records VALUES (11, 1, 38, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" writes"}]');
INSERT INTO public.log_records VALUES (11, 1, 39, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" one),"}]');
INSERT INTO public.log_records VALUES (11, 1, 40, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" or"}]');
INSERT INTO public.log_records VALUES (11, 1, 41, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" set"}]');
INSERT INTO public.log_records VALUES (11, 1, 42, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" OPENAI_API_KEY"}]');
INSERT INTO public.log_records VALUES (11, 1, 43, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" and"}]');
INSERT INTO public.log_records VALUES (11, 1, 44, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" use"}]');
INSERT INTO public.log_records VALUES (11, 1, 45, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" no"}]');
INSERT INTO public.log_records VALUES (11, 1, 46, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" file."}]');
INSERT INTO public.log_records VALUES (11, 1, 47, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" Name"}]');
INSERT INTO public.log_records VALUES (11, 1, 48, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" a"}]');
INSERT INTO public.log_records VALUES (11, 1, 49, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" tool"}]');
INSERT INTO public.log_records VALUES (11, 1, 50, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" in"}]');
INSERT INTO public.log_records VALUES (11, 1, 51, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" your"}]');
INSERT INTO public.log_records VALUES (11, 1, 52, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" question"}]');
INSERT INTO public.log_records VALUES (11, 1, 53, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" and"}]');
INSERT INTO public.log_records VALUES (11, 1, 54, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" I"}]');
INSERT INTO public.log_records VALUES (11, 1, 55, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" call"}]');
INSERT INTO public.log_records VALUES (11, 1, 56, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" it:"}]');
INSERT INTO public.log_records VALUES (11, 1, 57, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" read_order,"}]');
INSERT INTO public.log_records VALUES (11, 1, 58, 'events', '[{"type":"TextDelta","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","text":" cancel_order."}]');
INSERT INTO public.log_records VALUES (11, 1, 60, 'events', '[{"type":"TextEnded","message_id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","complete":true},{"type":"ModelResponseEnded","reason":"stop","usage":null}]');
INSERT INTO public.log_records VALUES (11, 1, 61, 'events', '[{"type":"SpanEnded","span":"s1","at":1136,"first":1,"reason":"stop"}]');
INSERT INTO public.log_records VALUES (11, 1, 62, 'events', '[{"type":"SpanEnded","span":"s0","at":1137}]');
INSERT INTO public.log_records VALUES (11, 1, 63, 'events', '[{"type":"RunFinished","outcome":"done"}]');
INSERT INTO public.log_records VALUES (11, 1, 64, 'end', '');
INSERT INTO public.log_records VALUES (12, 0, 1, 'created', '2a1781b058c6ddac');
INSERT INTO public.log_records VALUES (12, 2, 0, 'fence', '7d1459b79b0885da');
INSERT INTO public.log_records VALUES (12, 2, 5, 'events', '[{"type":"RunStarted","run_id":"run_aff0752ed2d3371478fff03a1196c506","thread_id":"thread_792da7c48e8f9b336e164c8e95c49b7c","agent":"default","new_messages":[{"role":"user","parts":[{"type":"text","text":"Once more."}],"id":"msg_e9751740b2c3926b2cda7af98d3b8216","extra":null}],"began_at":"2026-11-19T21:05:04.896Z","through":"openai"},{"type":"SpanStarted","span":"s0","kind":"run","name":"default","at":1},{"type":"SpanStarted","span":"s1","kind":"model","name":"default","at":2,"parent":"s0","about":{"model":"Scripted"}},{"type":"TextStarted","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a"},{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":"You"}]');
INSERT INTO public.log_records VALUES (12, 2, 6, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" said:"}]');
INSERT INTO public.log_records VALUES (12, 2, 7, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" “Once"}]');
INSERT INTO public.log_records VALUES (12, 2, 8, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" more.”"}]');
INSERT INTO public.log_records VALUES (12, 2, 9, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" I"}]');
INSERT INTO public.log_records VALUES (12, 2, 10, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" am"}]');
INSERT INTO public.log_records VALUES (12, 2, 11, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" the"}]');
INSERT INTO public.log_records VALUES (12, 2, 12, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" built-in"}]');
INSERT INTO public.log_records VALUES (12, 2, 13, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" demo"}]');
INSERT INTO public.log_records VALUES (12, 2, 14, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" model:"}]');
INSERT INTO public.log_records VALUES (12, 2, 15, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" I"}]');
INSERT INTO public.log_records VALUES (12, 2, 16, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" stream"}]');
INSERT INTO public.log_records VALUES (12, 2, 17, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" text"}]');
INSERT INTO public.log_records VALUES (12, 2, 18, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" and"}]');
INSERT INTO public.log_records VALUES (12, 2, 19, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" call"}]');
INSERT INTO public.log_records VALUES (12, 2, 20, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" tools,"}]');
INSERT INTO public.log_records VALUES (12, 2, 21, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" but"}]');
INSERT INTO public.log_records VALUES (12, 2, 22, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" I"}]');
INSERT INTO public.log_records VALUES (12, 2, 23, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" do"}]');
INSERT INTO public.log_records VALUES (12, 2, 24, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" not"}]');
INSERT INTO public.log_records VALUES (12, 2, 25, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" understand"}]');
INSERT INTO public.log_records VALUES (12, 2, 26, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" language."}]');
INSERT INTO public.log_records VALUES (12, 2, 27, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" For"}]');
INSERT INTO public.log_records VALUES (12, 2, 28, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" real"}]');
INSERT INTO public.log_records VALUES (12, 2, 29, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" answers,"}]');
INSERT INTO public.log_records VALUES (12, 2, 30, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" configure"}]');
INSERT INTO public.log_records VALUES (12, 2, 31, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" a"}]');
INSERT INTO public.log_records VALUES (12, 2, 32, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" model"}]');
INSERT INTO public.log_records VALUES (12, 2, 33, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" in"}]');
INSERT INTO public.log_records VALUES (12, 2, 34, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" rightseat.yaml"}]');
INSERT INTO public.log_records VALUES (12, 2, 35, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" (`rightseat"}]');
INSERT INTO public.log_records VALUES (12, 2, 36, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" init`"}]');
INSERT INTO public.log_records VALUES (12, 2, 37, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" writes"}]');
INSERT INTO public.log_records VALUES (12, 2, 38, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" one),"}]');
INSERT INTO public.log_records VALUES (12, 2, 39, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" or"}]');
INSERT INTO public.log_records VALUES (12, 2, 40, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" set"}]');
INSERT INTO public.log_records VALUES (12, 2, 41, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" OPENAI_API_KEY"}]');
INSERT INTO public.log_records VALUES (12, 2, 42, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" and"}]');
INSERT INTO public.log_records VALUES (12, 2, 43, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" use"}]');
INSERT INTO public.log_records VALUES (12, 2, 44, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" no"}]');
INSERT INTO public.log_records VALUES (12, 2, 45, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" file."}]');
INSERT INTO public.log_records VALUES (12, 2, 46, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" Name"}]');
INSERT INTO public.log_records VALUES (12, 2, 47, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" a"}]');
INSERT INTO public.log_records VALUES (12, 2, 48, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" tool"}]');
INSERT INTO public.log_records VALUES (12, 2, 49, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" in"}]');
INSERT INTO public.log_records VALUES (12, 2, 50, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" your"}]');
INSERT INTO public.log_records VALUES (12, 2, 51, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" question"}]');
INSERT INTO public.log_records VALUES (12, 2, 52, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" and"}]');
INSERT INTO public.log_records VALUES (12, 2, 53, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" I"}]');
INSERT INTO public.log_records VALUES (12, 2, 54, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" call"}]');
INSERT INTO public.log_records VALUES (12, 2, 55, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" it:"}]');
INSERT INTO public.log_records VALUES (12, 2, 56, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" read_order,"}]');
INSERT INTO public.log_records VALUES (12, 2, 57, 'events', '[{"type":"TextDelta","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","text":" cancel_order."}]');
INSERT INTO public.log_records VALUES (12, 2, 59, 'events', '[{"type":"TextEnded","message_id":"msg_0db59aa86dc2590e8e20d3637ba7779a","complete":true},{"type":"ModelResponseEnded","reason":"stop","usage":null}]');
INSERT INTO public.log_records VALUES (12, 2, 60, 'events', '[{"type":"SpanEnded","span":"s1","at":1105,"first":2,"reason":"stop"}]');
INSERT INTO public.log_records VALUES (12, 2, 61, 'events', '[{"type":"SpanEnded","span":"s0","at":1106}]');
INSERT INTO public.log_records VALUES (12, 2, 62, 'events', '[{"type":"RunFinished","outcome":"done"}]');
INSERT INTO public.log_records VALUES (12, 2, 63, 'end', '');
INSERT INTO public.log_records VALUES (13, 0, 1, 'created', '7e2324260d46c081');
INSERT INTO public.log_records VALUES (13, 1, 0, 'fence', '92d7eaef8ac378a2');
INSERT INTO public.log_records VALUES (13, 1, 5, 'events', '[{"type":"RunStarted","run_id":"run_3eff97df9bfefba96ae1837e2d93e661","thread_id":"long","agent":"default","client_run_id":"run-cb55321048e0cb5a","new_messages":[{"role":"user","parts":[{"type":"text","text":"Hello, and do not stop."}],"id":"question-809fccfa","extra":null}],"began_at":"2026-11-19T21:05:07.194Z","through":"copilotkit"},{"type":"SpanStarted","span":"s0","kind":"run","name":"default","at":2},{"type":"SpanStarted","span":"s1","kind":"model","name":"default","at":2,"parent":"s0","about":{"model":"Scripted"}},{"type":"TextStarted","message_id":"msg_909f5e86738b9bb67dc74bbe3e7597a0"},{"type":"TextDelta","message_id":"msg_909f5e86738b9bb67dc74bbe3e7597a0","text":"You"}]');
INSERT INTO public.log_records VALUES (13, 1, 6, 'events', '[{"type":"TextDelta","message_id":"msg_909f5e86738b9bb67dc74bbe3e7597a0","text":" said:"}]');
INSERT INTO public.log_records VALUES (13, 1, 7, 'events', '[{"type":"TextDelta","message_id":"msg_909f5e86738b9bb67dc74bbe3e7597a0","text":" “Hello,"}]');
INSERT INTO public.log_records VALUES (13, 1, 8, 'events', '[{"type":"TextDelta","message_id":"msg_909f5e86738b9bb67dc74bbe3e7597a0","text":" and"}]');
INSERT INTO public.log_records VALUES (13, 1, 9, 'events', '[{"type":"TextDelta","message_id":"msg_909f5e86738b9bb67dc74bbe3e7597a0","text":" do"}]');



INSERT INTO public.log_runs OVERRIDING SYSTEM VALUE VALUES (1, 'run_e4b31db6f7e794464f05626cbae59f27', 1, '2026-11-19 21:04:57.838919+00');
INSERT INTO public.log_runs OVERRIDING SYSTEM VALUE VALUES (2, 'run_50ba74391f99eb714ca4b99fda262222', 2, '2026-11-19 21:04:59.076388+00');
INSERT INTO public.log_runs OVERRIDING SYSTEM VALUE VALUES (3, 'run_81836052c2e9c37b6b26cfe1150e152b', 1, '2026-11-19 21:04:59.473179+00');
INSERT INTO public.log_runs OVERRIDING SYSTEM VALUE VALUES (4, 'run_057df4d693d5533b1bf668d0bdb27506', 1, '2026-11-19 21:04:59.638948+00');
INSERT INTO public.log_runs OVERRIDING SYSTEM VALUE VALUES (5, 'run_fa5de17e50b8fb06a70a86abfe6693a8', 2, '2026-11-19 21:04:59.979655+00');
INSERT INTO public.log_runs OVERRIDING SYSTEM VALUE VALUES (6, 'run_a28ba57bb7bfa81cbd5fd384063e8481', 1, '2026-11-19 21:05:00.08416+00');
INSERT INTO public.log_runs OVERRIDING SYSTEM VALUE VALUES (7, 'run_50a05882e16e6039af08f0ee4d47169c', 2, '2026-11-19 21:05:00.546099+00');
INSERT INTO public.log_runs OVERRIDING SYSTEM VALUE VALUES (8, 'run_32e1a6a654cc85dcfa17d69f5797cff5', 1, '2026-11-19 21:05:00.687031+00');
INSERT INTO public.log_runs OVERRIDING SYSTEM VALUE VALUES (9, 'run_64447092815e19679ad4e9e7cbf894e4', 1, '2026-11-19 21:05:02.428898+00');
INSERT INTO public.log_runs OVERRIDING SYSTEM VALUE VALUES (10, 'run_0ed8ee7fc1a01aafcd01310c9284c325', 1, '2026-11-19 21:05:03.655712+00');
INSERT INTO public.log_runs OVERRIDING SYSTEM VALUE VALUES (11, 'run_8f105b2b8ce7b5e8a5f48516db93245e', 1, '2026-11-19 21:05:04.865893+00');
INSERT INTO public.log_runs OVERRIDING SYSTEM VALUE VALUES (12, 'run_aff0752ed2d3371478fff03a1196c506', 2, '2026-11-19 21:05:06.035361+00');
INSERT INTO public.log_runs OVERRIDING SYSTEM VALUE VALUES (13, 'run_3eff97df9bfefba96ae1837e2d93e661', 1, NULL);



INSERT INTO public.log_version VALUES (1);






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
INSERT INTO public.message_texts VALUES ('thread_792da7c48e8f9b336e164c8e95c49b7c', 0, 'hello from bob.');
INSERT INTO public.message_texts VALUES ('thread_792da7c48e8f9b336e164c8e95c49b7c', 1, 'you said: “hello from bob.” i am the built-in demo model: i stream text and call tools, but i do not understand language. for real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set openai_api_key and use no file. name a tool in your question and i call it: read_order, cancel_order.');
INSERT INTO public.message_texts VALUES ('thread_792da7c48e8f9b336e164c8e95c49b7c', 2, 'once more.');
INSERT INTO public.message_texts VALUES ('thread_792da7c48e8f9b336e164c8e95c49b7c', 3, 'you said: “once more.” i am the built-in demo model: i stream text and call tools, but i do not understand language. for real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set openai_api_key and use no file. name a tool in your question and i call it: read_order, cancel_order.');



INSERT INTO public.messages VALUES ('hello', 0, 'question-13d7466a', '{"role":"user","parts":[{"type":"text","text":"Hello, shop. 你好！"}],"id":"question-13d7466a","extra":null}');
INSERT INTO public.messages VALUES ('hello', 1, 'msg_56058be68526fb9ad5372c6260d55f10', '{"role":"assistant","parts":[{"type":"text","text":"You said: “Hello, shop. 你好！” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order."}],"id":"msg_56058be68526fb9ad5372c6260d55f10","extra":null}');
INSERT INTO public.messages VALUES ('hello', 2, 'question-f0c1782c', '{"role":"user","parts":[{"type":"text","text":"And again."}],"id":"question-f0c1782c","extra":null}');
INSERT INTO public.messages VALUES ('hello', 3, 'msg_1e41ad9782823d47926b7f33ea23ee05', '{"role":"assistant","parts":[{"type":"text","text":"You said: “And again.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order."}],"id":"msg_1e41ad9782823d47926b7f33ea23ee05","extra":null}');
INSERT INTO public.messages VALUES ('reading', 0, 'question-acf60d83', '{"role":"user","parts":[{"type":"text","text":"read_order 7"}],"id":"question-acf60d83","extra":null}');
INSERT INTO public.messages VALUES ('reading', 1, 'call_903ec414510b8624dbd37a65270555a6', '{"role":"assistant","parts":[{"type":"call","id":"call_903ec414510b8624dbd37a65270555a6","name":"read_order","arguments":"{\"number\": \"7\"}"}],"id":"call_903ec414510b8624dbd37a65270555a6","extra":null}');
INSERT INTO public.messages VALUES ('reading', 2, 'result-call_903ec414510b8624dbd37a65270555a6', '{"role":"tool","parts":[{"type":"result","call_id":"call_903ec414510b8624dbd37a65270555a6","name":"read_order","content":"{\"order\":\"7\",\"state\":\"paid\"}","error":null}],"id":"result-call_903ec414510b8624dbd37a65270555a6","extra":null}');
INSERT INTO public.messages VALUES ('reading', 3, 'msg_70637f84078a54e067ade0df8be9cae5', '{"role":"assistant","parts":[{"type":"text","text":"The tool read_order returned: {\"order\":\"7\",\"state\":\"paid\"}"}],"id":"msg_70637f84078a54e067ade0df8be9cae5","extra":null}');
INSERT INTO public.messages VALUES ('cancelled', 0, 'question-1c088f14', '{"role":"user","parts":[{"type":"text","text":"cancel_order 8"}],"id":"question-1c088f14","extra":null}');
INSERT INTO public.messages VALUES ('cancelled', 1, 'call_5b0278499432e19f0948b1c4a5179c38', '{"role":"assistant","parts":[{"type":"call","id":"call_5b0278499432e19f0948b1c4a5179c38","name":"cancel_order","arguments":"{\"number\": \"8\"}"}],"id":"call_5b0278499432e19f0948b1c4a5179c38","extra":null}');
INSERT INTO public.messages VALUES ('cancelled', 2, 'result-call_5b0278499432e19f0948b1c4a5179c38', '{"role":"tool","parts":[{"type":"result","call_id":"call_5b0278499432e19f0948b1c4a5179c38","name":"cancel_order","content":"{\"order\":\"8\",\"state\":\"cancelled\"}","error":null}],"id":"result-call_5b0278499432e19f0948b1c4a5179c38","extra":null}');
INSERT INTO public.messages VALUES ('cancelled', 3, 'msg_ccf0a80e50f306a1c23754f567277358', '{"role":"assistant","parts":[{"type":"text","text":"The tool cancel_order returned: {\"order\":\"8\",\"state\":\"cancelled\"}"}],"id":"msg_ccf0a80e50f306a1c23754f567277358","extra":null}');
INSERT INTO public.messages VALUES ('refused', 0, 'question-7df19f42', '{"role":"user","parts":[{"type":"text","text":"cancel_order 9"}],"id":"question-7df19f42","extra":null}');
INSERT INTO public.messages VALUES ('refused', 1, 'call_f6e6d7514fc85db26354bad8637f020f', '{"role":"assistant","parts":[{"type":"call","id":"call_f6e6d7514fc85db26354bad8637f020f","name":"cancel_order","arguments":"{\"number\": \"9\"}"}],"id":"call_f6e6d7514fc85db26354bad8637f020f","extra":null}');
INSERT INTO public.messages VALUES ('refused', 2, 'result-call_f6e6d7514fc85db26354bad8637f020f', '{"role":"tool","parts":[{"type":"result","call_id":"call_f6e6d7514fc85db26354bad8637f020f","name":"cancel_order","content":"The user denied the call. It was not run.","error":"refused"}],"id":"result-call_f6e6d7514fc85db26354bad8637f020f","extra":null}');
INSERT INTO public.messages VALUES ('refused', 3, 'msg_4e1d4cd3ee2c48dcbc3f84a0704448a3', '{"role":"assistant","parts":[{"type":"text","text":"The tool cancel_order returned: The user denied the call. It was not run."}],"id":"msg_4e1d4cd3ee2c48dcbc3f84a0704448a3","extra":null}');
INSERT INTO public.messages VALUES ('waiting', 0, 'question-ff4e5528', '{"role":"user","parts":[{"type":"text","text":"cancel_order 10"}],"id":"question-ff4e5528","extra":null}');
INSERT INTO public.messages VALUES ('waiting', 1, 'call_3d0f211e03c8cf86724f53c7d46a6071', '{"role":"assistant","parts":[{"type":"call","id":"call_3d0f211e03c8cf86724f53c7d46a6071","name":"cancel_order","arguments":"{\"number\": \"10\"}"}],"id":"call_3d0f211e03c8cf86724f53c7d46a6071","extra":null}');
INSERT INTO public.messages VALUES ('totals', 0, 'question-50438c3f', '{"role":"user","parts":[{"type":"text","text":"The totals of the orders"}],"id":"question-50438c3f","extra":null}');
INSERT INTO public.messages VALUES ('totals', 1, 'msg_45a6f49de65685e11f4f7efd7abe9fbe', '{"role":"assistant","parts":[{"type":"text","text":"You said: “The totals of the orders\n\nData:\n<data source=\"step:start\">[{\"month\":\"2026-01\",\"total\":1200},{\"month\":\"2026-02\",\"total\":950}]</data>\n\nWhat happened:\nstart (lib.order_totals):\ndraw (render): A bar chart: Totals by month.\nend (none):” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file."}],"id":"msg_45a6f49de65685e11f4f7efd7abe9fbe","extra":null}');
INSERT INTO public.messages VALUES ('archived', 0, 'question-23fb6c19', '{"role":"user","parts":[{"type":"text","text":"Hello for the archive."}],"id":"question-23fb6c19","extra":null}');
INSERT INTO public.messages VALUES ('archived', 1, 'msg_d0d5cb1ad6baff5f1ae4f6adb6080fee', '{"role":"assistant","parts":[{"type":"text","text":"You said: “Hello for the archive.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order."}],"id":"msg_d0d5cb1ad6baff5f1ae4f6adb6080fee","extra":null}');
INSERT INTO public.messages VALUES ('thread_792da7c48e8f9b336e164c8e95c49b7c', 0, 'msg_d75559ccf44d8170df6d32bde5c631e0', '{"role":"user","parts":[{"type":"text","text":"Hello from Bob."}],"id":"msg_d75559ccf44d8170df6d32bde5c631e0","extra":null}');
INSERT INTO public.messages VALUES ('thread_792da7c48e8f9b336e164c8e95c49b7c', 1, 'msg_2e185e9cdaf0d84b8e29a3878e7855f0', '{"role":"assistant","parts":[{"type":"text","text":"You said: “Hello from Bob.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order."}],"id":"msg_2e185e9cdaf0d84b8e29a3878e7855f0","extra":null}');
INSERT INTO public.messages VALUES ('thread_792da7c48e8f9b336e164c8e95c49b7c', 2, 'msg_e9751740b2c3926b2cda7af98d3b8216', '{"role":"user","parts":[{"type":"text","text":"Once more."}],"id":"msg_e9751740b2c3926b2cda7af98d3b8216","extra":null}');
INSERT INTO public.messages VALUES ('thread_792da7c48e8f9b336e164c8e95c49b7c', 3, 'msg_0db59aa86dc2590e8e20d3637ba7779a', '{"role":"assistant","parts":[{"type":"text","text":"You said: “Once more.” I am the built-in demo model: I stream text and call tools, but I do not understand language. For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), or set OPENAI_API_KEY and use no file. Name a tool in your question and I call it: read_order, cancel_order."}],"id":"msg_0db59aa86dc2590e8e20d3637ba7779a","extra":null}');



INSERT INTO public.processes VALUES (2852859479370816416, 1795122309.151018, 1795122308.151018, 20685, 1795120784.973814);



INSERT INTO public.rightseat_version VALUES ('0013');



INSERT INTO public.runs VALUES (1, 'run_e4b31db6f7e794464f05626cbae59f27', 'hello', 'alice', 'default', 'run-df081a8a85fc53a9', 'done', 1, 2852859479370816416, NULL, '2026-11-19T21:04:56.637528Z', '2026-11-19T21:04:57.844106Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (2, 'run_50ba74391f99eb714ca4b99fda262222', 'hello', 'alice', 'default', 'run-d169aa8146d8c07f', 'done', 2, 2852859479370816416, NULL, '2026-11-19T21:04:57.885413Z', '2026-11-19T21:04:59.105675Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (3, 'run_81836052c2e9c37b6b26cfe1150e152b', 'reading', 'alice', 'default', 'run-7fc6f0d66786a034', 'done', 1, 2852859479370816416, NULL, '2026-11-19T21:04:59.132984Z', '2026-11-19T21:04:59.483826Z', 'copilotkit', NULL, NULL, NULL, NULL, 2, 1, '[{"name":"default","calls":2,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (4, 'run_057df4d693d5533b1bf668d0bdb27506', 'cancelled', 'alice', 'default', 'run-68d2de70630dc22c', 'waiting', 1, 2852859479370816416, NULL, '2026-11-19T21:04:59.499073Z', '2026-11-19T21:04:59.645128Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (5, 'run_fa5de17e50b8fb06a70a86abfe6693a8', 'cancelled', 'alice', 'default', NULL, 'done', 2, 2852859479370816416, NULL, '2026-11-19T21:04:59.734736Z', '2026-11-19T21:04:59.986866Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 1, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, '2026-11-19T21:04:59.645128Z', NULL);
INSERT INTO public.runs VALUES (6, 'run_a28ba57bb7bfa81cbd5fd384063e8481', 'refused', 'alice', 'default', 'run-1062bd807aa636df', 'waiting', 1, 2852859479370816416, NULL, '2026-11-19T21:04:59.978592Z', '2026-11-19T21:05:00.090028Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (7, 'run_50a05882e16e6039af08f0ee4d47169c', 'refused', 'alice', 'default', NULL, 'done', 2, 2852859479370816416, NULL, '2026-11-19T21:05:00.151588Z', '2026-11-19T21:05:00.557855Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, '2026-11-19T21:05:00.090028Z', NULL);
INSERT INTO public.runs VALUES (8, 'run_32e1a6a654cc85dcfa17d69f5797cff5', 'waiting', 'alice', 'default', 'run-a0fd20cac1fc9df7', 'waiting', 1, 2852859479370816416, NULL, '2026-11-19T21:05:00.559623Z', '2026-11-19T21:05:00.690510Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (9, 'run_64447092815e19679ad4e9e7cbf894e4', 'totals', 'alice', 'reports', 'run-d3ce392fdd2f2391', 'done', 1, 2852859479370816416, NULL, '2026-11-19T21:05:00.705282Z', '2026-11-19T21:05:02.401068Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', 'orders.totals', NULL, NULL);
INSERT INTO public.runs VALUES (10, 'run_0ed8ee7fc1a01aafcd01310c9284c325', 'archived', 'alice', 'default', 'run-d6fa6c52f96d8f88', 'done', 1, 2852859479370816416, NULL, '2026-11-19T21:05:02.441240Z', '2026-11-19T21:05:03.665994Z', 'copilotkit', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (13, 'run_3eff97df9bfefba96ae1837e2d93e661', 'long', 'carol', 'default', 'run-cb55321048e0cb5a', NULL, 1, 2852859479370816416, '{"messages":[{"role":"user","parts":[{"type":"text","text":"Hello, and do not stop."}],"id":"question-809fccfa","extra":null}],"agent":"default","thread_id":"long","run_id":"run_3eff97df9bfefba96ae1837e2d93e661","principal":{"id":"carol","agents":null},"tools":[],"parameters":{"model":null,"temperature":null,"max_tokens":null,"stop":null,"tool_choice":null,"parallel_calls":null,"response_schema":null,"response_strict":null,"response_name":null,"top_p":null,"seed":null,"presence_penalty":null,"frequency_penalty":null,"logprobs":null},"context":[],"state":null,"properties":{},"headers":{},"config":{},"answers":[],"topics":null,"caller":{"key":"carol","address":"127.0.0.1"},"purpose":"answer","downgrade":null,"face":"copilotkit","client_run_id":"run-cb55321048e0cb5a","node":null,"max_turns":null,"final_answer_without_tools":false,"transient":false,"interactive":false,"durable":true,"when_busy":"refuse","supports_suggestions":true,"truncate_at":null}', '2026-11-19T21:05:07.187807Z', NULL, 'copilotkit', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.runs VALUES (11, 'run_8f105b2b8ce7b5e8a5f48516db93245e', 'thread_792da7c48e8f9b336e164c8e95c49b7c', 'bob', 'default', NULL, 'done', 1, 2852859479370816416, NULL, '2026-11-19T21:05:03.689920Z', '2026-11-19T21:05:04.871012Z', 'openai', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);
INSERT INTO public.runs VALUES (12, 'run_aff0752ed2d3371478fff03a1196c506', 'thread_792da7c48e8f9b336e164c8e95c49b7c', 'bob', 'default', NULL, 'done', 2, 2852859479370816416, NULL, '2026-11-19T21:05:04.890300Z', '2026-11-19T21:05:06.037524Z', 'openai', NULL, NULL, NULL, NULL, 1, 0, '[{"name":"default","calls":1,"model":"Scripted"}]', NULL, NULL, NULL);



INSERT INTO public.threads VALUES ('hello', 'alice', 'default', 'A greeting', false, NULL, NULL, '2026-11-19T21:04:56.634800Z', '2026-11-19T21:04:59.105675Z');
INSERT INTO public.threads VALUES ('reading', 'alice', 'default', 'read_order 7', false, NULL, NULL, '2026-11-19T21:04:59.131257Z', '2026-11-19T21:04:59.483826Z');
INSERT INTO public.threads VALUES ('cancelled', 'alice', 'default', 'cancel_order 8', false, NULL, NULL, '2026-11-19T21:04:59.498490Z', '2026-11-19T21:04:59.986866Z');
INSERT INTO public.threads VALUES ('refused', 'alice', 'default', 'cancel_order 9', false, NULL, NULL, '2026-11-19T21:04:59.978175Z', '2026-11-19T21:05:00.557855Z');
INSERT INTO public.threads VALUES ('waiting', 'alice', 'default', 'cancel_order 10', false, NULL, NULL, '2026-11-19T21:05:00.558747Z', '2026-11-19T21:05:00.690510Z');
INSERT INTO public.threads VALUES ('totals', 'alice', 'reports', 'The totals of the orders', false, NULL, NULL, '2026-11-19T21:05:00.697093Z', '2026-11-19T21:05:02.401068Z');
INSERT INTO public.threads VALUES ('archived', 'alice', 'default', 'Hello for the archive.', true, NULL, NULL, '2026-11-19T21:05:02.438137Z', '2026-11-19T21:05:03.665994Z');
INSERT INTO public.threads VALUES ('thread_792da7c48e8f9b336e164c8e95c49b7c', 'bob', 'default', 'Hello from Bob.', false, NULL, NULL, '2026-11-19T21:05:03.689469Z', '2026-11-19T21:05:06.037524Z');
INSERT INTO public.threads VALUES ('long', 'carol', 'default', 'Hello, and do not stop.', false, NULL, 'run_3eff97df9bfefba96ae1837e2d93e661', '2026-11-19T21:05:07.187417Z', '2026-11-19T21:05:07.187417Z');



INSERT INTO public.usage VALUES ('2026-11-19', 'alice', 'alice', 'reports', 'default', 'answer', 1, 0, 0, 0, 0, 280, 94200);
INSERT INTO public.usage VALUES ('2026-11-19', 'alice', 'alice', 'default', 'default', 'answer', 9, 0, 0, 0, 0, 1571, 380550);
INSERT INTO public.usage VALUES ('2026-11-19', 'bob', 'bob', 'default', 'default', 'answer', 2, 0, 0, 0, 0, 472, 142350);



SELECT pg_catalog.setval('public.audit_lines_number_seq', 17, true);



SELECT pg_catalog.setval('public.log_runs_key_seq', 13, true);



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



ALTER TABLE ONLY public.log_records
    ADD CONSTRAINT log_records_pkey PRIMARY KEY (run_key, epoch, seq);



ALTER TABLE ONLY public.log_runs
    ADD CONSTRAINT log_runs_id_key UNIQUE (id);



ALTER TABLE ONLY public.log_runs
    ADD CONSTRAINT log_runs_pkey PRIMARY KEY (key);



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



CREATE INDEX log_runs_ended_at ON public.log_runs USING btree (ended_at) WHERE (ended_at IS NOT NULL);



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




